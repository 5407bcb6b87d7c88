#include "server/lab/page_faults.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/spread.h"
#include "annotator/profile/statistics.h"

namespace hotlens::lab {
namespace {

constexpr std::size_t kTouched = std::size_t{16} << 20, kPage = 4096;  // bytes
constexpr double kMuch = 0.2;                                          // of the step

std::int64_t faults_so_far() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

}  // namespace

Ns cost_of_a_fault() {
  void* memory = ::mmap(nullptr, kTouched, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {};
  const std::int64_t before = faults_so_far();
  const auto begin = std::chrono::steady_clock::now();
  auto* bytes = static_cast<volatile unsigned char*>(memory);
  for (std::size_t at = 0; at < kTouched; at += kPage) bytes[at] = 1;
  const Ns took = std::chrono::steady_clock::now() - begin;
  const std::int64_t faults = faults_so_far() - before;
  ::munmap(memory, kTouched);
  return took / std::max<std::int64_t>(faults, 1);
}

std::optional<PageFaults> much_faulting(const std::vector<std::int64_t>& faults, const std::vector<Ns>& steps, Ns each) {
  if (faults.empty() || steps.empty()) return std::nullopt;
  const std::int64_t count = profile::usual(faults);
  const Ns step = profile::sample(steps).median;
  const double whole = static_cast<double>(step.count());
  const double time = std::min(static_cast<double>(count) * static_cast<double>(each.count()), whole);
  if (whole <= 0 || time < kMuch * whole) return std::nullopt;
  return PageFaults{.count = count, .time = Ns{static_cast<std::int64_t>(time)}, .step = step};
}

std::optional<PageFaults> much_faulting(const std::filesystem::path& bundle, const std::vector<Ns>& steps) {
  const auto manifest = profile::read_manifest(bundle);
  if (!manifest) return std::nullopt;
  return much_faulting(manifest->plain_faults, steps, manifest->fault_time ? *manifest->fault_time : cost_of_a_fault());
}

}  // namespace hotlens::lab
