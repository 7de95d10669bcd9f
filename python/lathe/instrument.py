"""lathe.instrument: what watches passes."""
from lathe.ir.instrument import (DumpIR, PassInstrument, PassPrintingInstrument, PassTimingInstrument, PrintAfterAll,
                                 PrintBeforeAll, pass_instrument)
