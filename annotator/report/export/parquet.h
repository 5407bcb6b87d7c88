// Recordings of one or many processes as a table for data tools: Apache Parquet (FORMATS.md names the columns).
//
// One row per rank, step, stage, direction, module and kernel: `device_ns` of kernels by the step that launched them, `wall_ns` of the main
// thread's time, which adds up to the step's. One recording is in memory at a time.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "annotator/profile/build/annotated.h"
#include "annotator/report/export/parquet_file.h"

namespace hotlens::report {

class ParquetExport {
 public:
  explicit ParquetExport(std::ostream& out);

  // A process's recording becomes one row group. Rows of `rank`, where the recording does not say its own.
  void add(const profile::Annotated& annotated, std::int64_t rank);
  void finish();

 private:
  ParquetFile file_;
  std::vector<std::string> profiles_;
};

}  // namespace hotlens::report
