#include "deploy/demo/test_image.h"

#include <cmath>
#include <cstddef>

namespace lathe::demo {
namespace {

double Signed(Random& random) { return 2 * random.Unit() - 1; }

// Adds a grid of random values, interpolated linearly, to one plane.
void AddOctave(std::vector<double>& plane, int64_t size, int64_t cells, double amplitude, Random& random) {
  std::vector<double> grid((cells + 1) * (cells + 1));
  for (double& v : grid) v = Signed(random) * amplitude;
  for (int64_t y = 0; y < size; ++y) {
    for (int64_t x = 0; x < size; ++x) {
      const int64_t gy = y * cells / size, gx = x * cells / size;
      const double fy = static_cast<double>(y * cells % size) / size, fx = static_cast<double>(x * cells % size) / size;
      const double* corner = &grid[gy * (cells + 1) + gx];
      const double top = corner[0] * (1 - fx) + corner[1] * fx;
      const double bottom = corner[cells + 1] * (1 - fx) + corner[cells + 2] * fx;
      plane[y * size + x] += top * (1 - fy) + bottom * fy;
    }
  }
}

// Each octave has its own strength, so that some images are smooth and others busy.
std::vector<double> MakePlane(int64_t size, Random& random) {
  std::vector<double> plane(size * size, Signed(random));
  for (int64_t cells = 2; cells <= size / 2; cells *= 2) AddOctave(plane, size, cells, 1.5 * random.Unit(), random);
  return plane;
}

// To zero mean and unit variance over the whole image: differences between colours stay.
void Standardize(std::vector<double>& image) {
  const double count = static_cast<double>(image.size());
  double mean = 0, variance = 0;
  for (double v : image) mean += v / count;
  for (double v : image) variance += (v - mean) * (v - mean) / count;
  const double factor = 1 / std::sqrt(variance + 1e-6);
  for (double& v : image) v = (v - mean) * factor;
}

}  // namespace

std::vector<float> MakeTestImage(int64_t size, Random random) {
  const std::vector<double> light = MakePlane(size, random);  // Common to the three colours.
  std::vector<double> image;
  image.reserve(3 * size * size);
  for (int colour = 0; colour < 3; ++colour) {
    const std::vector<double> tint = MakePlane(size, random);
    for (size_t i = 0; i < tint.size(); ++i) image.push_back(0.7 * light[i] + 0.5 * tint[i]);
  }
  Standardize(image);
  return {image.begin(), image.end()};
}

}  // namespace lathe::demo
