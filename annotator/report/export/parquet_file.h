// Tables as Apache Parquet files (format version 2, parquet.apache.org): whole numbers and texts, row groups of any size.
//
// Columns of texts have a dictionary for each row group; pages are not compressed. Written in one pass: memory holds one row group.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace hotlens::report {

struct ParquetColumn {
  enum class Type : std::uint8_t { number, text };
  std::string name;
  Type type = Type::number;  // numbers are INT64 and never absent; texts may be
};

class ParquetFile {
 public:
  using Value = std::variant<std::int64_t, std::optional<std::string_view>>;

  // `out` must outlive this and be binary.
  ParquetFile(std::ostream& out, std::vector<ParquetColumn> columns);

  // One value per column, of its type.
  void add(const std::vector<Value>& row);
  // Rows since the last one become a row group; none, no group.
  void end_group();
  // The rest, and what readers look for first. `facts`: key and value. Nothing may follow.
  void finish(const std::vector<std::pair<std::string, std::string>>& facts);

 private:
  struct Chunk {
    std::vector<std::int64_t> numbers;
    std::vector<std::uint32_t> texts;  // into `words`; kAbsent
    std::vector<std::string> words;
    std::unordered_map<std::string, std::uint32_t> known;
  };
  struct Written {
    std::int64_t first_page = 0, data_page = 0, bytes = 0, values = 0;
  };
  struct Group {
    std::vector<Written> columns;
    std::int64_t rows = 0;
  };

  void write(std::string_view bytes);
  Written write_chunk(const ParquetColumn& column, const Chunk& chunk);

  std::ostream& out_;
  std::vector<ParquetColumn> columns_;
  std::vector<Chunk> chunks_;
  std::vector<Group> groups_;
  std::int64_t rows_ = 0, at_ = 0;  // rows of the group at hand; bytes written
};

}  // namespace hotlens::report
