#include "annotator/report/export/parquet.h"

#include <map>
#include <tuple>

#include "annotator/common/harmless.h"
#include "annotator/kernels/kernel_name.h"
#include "annotator/profile/build/module_name.h"

namespace hotlens::report {
namespace {

using attribution::kNothing;
using attribution::Owner;
using attribution::StepAccount;

std::vector<ParquetColumn> columns() {
  using Type = ParquetColumn::Type;
  return {{"rank", Type::number},  {"step", Type::number},    {"stage", Type::text},      {"direction", Type::text},
          {"module", Type::text},  {"class", Type::text},     {"kernel", Type::text},     {"family", Type::text},
          {"calls", Type::number}, {"wall_ns", Type::number}, {"device_ns", Type::number}};
}

// Stage, direction, module, name of a kernel.
using Key = std::tuple<attribution::Stage, attribution::Direction, std::uint32_t, std::uint32_t>;
struct Sums {
  std::int64_t calls = 0;
  Ns wall{}, device{};
};

class Rows {
 public:
  explicit Rows(const profile::Annotated& annotated) : annotated_(annotated) {}

  std::map<Key, Sums> of(const StepAccount& step) const {
    std::map<Key, Sums> rows;
    for (const attribution::Piece& piece : step.wall) rows[key(piece.owner, kNothing)].wall += piece.end - piece.start;
    for (const std::uint32_t at : step.launched) {
      const attribution::Work& work = annotated_.account.work[at];
      Sums& sums = rows[key(work.owner, annotated_.trace.events.name[work.event].index)];
      sums.device += work.end - work.start;
      ++sums.calls;
    }
    return rows;
  }

 private:
  Key key(const Owner& owner, std::uint32_t kernel) const {
    const bool of_module = owner.works_for_module();
    return {owner.stage, owner.direction, of_module ? annotated_.owners.calls.value[owner.call] : kNothing, kernel};
  }

  const profile::Annotated& annotated_;
};

}  // namespace

ParquetExport::ParquetExport(std::ostream& out) : file_(out, columns()) {}

void ParquetExport::add(const profile::Annotated& annotated, std::int64_t rank) {
  const std::vector<profile::ModuleName> modules = profile::names_of_modules(annotated);
  const Rows rows(annotated);
  profiles_.push_back(annotated.manifest ? annotated.manifest->id : annotated.path.filename().string());
  using Text = std::optional<std::string_view>;
  for (const StepAccount& step : annotated.account.steps) {
    for (const auto& [key, sums] : rows.of(step)) {
      const auto& [stage, direction, module, kernel] = key;
      const bool named = module != kNothing && module < modules.size();
      const bool runs = kernel != kNothing;
      const std::string path = named ? harmless(modules[module].path) : std::string();
      const std::string class_name = named ? harmless(modules[module].class_name) : std::string();
      const std::string kernel_name = runs ? harmless(annotated.trace.names[trace::NameId{kernel}]) : std::string();
      file_.add({rank, step.span.index, Text(name(stage)), Text(name(direction)), named ? Text(path) : Text(),
                 named ? Text(class_name) : Text(), runs ? Text(kernel_name) : Text(),
                 runs ? Text(name(kernels::kernel_name(kernel_name).family)) : Text(), sums.calls, sums.wall.count(), sums.device.count()});
    }
  }
  file_.end_group();
}

void ParquetExport::finish() {
  std::string profiles;
  for (const std::string& id : profiles_) profiles += (profiles.empty() ? "" : "\n") + id;
  file_.finish({{"hotlens.schema", "hotlens.parquet/1"}, {"hotlens.profiles", profiles}});
}

}  // namespace hotlens::report
