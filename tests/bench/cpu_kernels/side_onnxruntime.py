"""ONNX Runtime on the workload's model, by its CPU provider, all optimizations on."""

import onnxruntime
from side_common import Side, input_tensors, serve


class OnnxRuntime(Side):
    def open(self, request):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = request["threads"]
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(request["model"], options, providers=["CPUExecutionProvider"])
        self.feeds = input_tensors(request)
        # Bound once: no time goes into names and copies at each call.
        self.binding = self.session.io_binding()
        self.values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in self.feeds.items()}
        for name, value in self.values.items():
            self.binding.bind_ortvalue_input(name, value)
        self.binding.bind_output(self.session.get_outputs()[0].name, "cpu")

    def call(self):
        self.session.run_with_iobinding(self.binding)
        return self.binding

    def array_of(self, output):
        return output.copy_outputs_to_cpu()[0]


serve(OnnxRuntime())
