#include "annotator/report/export/parquet_file.h"

#include <bit>
#include <ostream>

namespace hotlens::report {
namespace {

constexpr std::string_view kMagic = "PAR1";
constexpr std::uint32_t kAbsent = 0xffffffff;

// Numbers of the format's Thrift definition.
enum Encoding : std::int32_t { plain = 0, rle = 3, rle_dictionary = 8 };
enum PhysicalType : std::int32_t { int64 = 2, byte_array = 6 };
constexpr std::int32_t kUtf8 = 0, kRequired = 0, kOptional = 1, kDataPage = 0, kDictionaryPage = 2;

void put_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

void put_little(std::string& bytes, std::uint64_t value, int size) {
  for (int byte = 0; byte < size; ++byte) bytes += static_cast<char>(value >> (8 * byte));
}

// Structs in Thrift's compact protocol. Fields are added in the order of their numbers.
class Struct {
 public:
  Struct& number(int field, std::int64_t value, bool is_long) {
    begin(field, is_long ? 6 : 5);
    put_varint(bytes_, zigzag(value));
    return *this;
  }
  Struct& i32(int field, std::int64_t value) { return number(field, value, false); }
  Struct& i64(int field, std::int64_t value) { return number(field, value, true); }
  Struct& text(int field, std::string_view value) {
    begin(field, 8);
    put_varint(bytes_, value.size());
    bytes_ += value;
    return *this;
  }
  Struct& nested(int field, Struct value) {
    begin(field, 12);
    bytes_ += std::move(value).done();
    return *this;
  }
  Struct& list(int field, std::vector<Struct> values) {
    begin_list(field, values.size(), 12);
    for (Struct& value : values) bytes_ += std::move(value).done();
    return *this;
  }
  Struct& numbers(int field, const std::vector<std::int64_t>& values) {
    begin_list(field, values.size(), 5);
    for (const std::int64_t value : values) put_varint(bytes_, zigzag(value));
    return *this;
  }
  Struct& texts(int field, const std::vector<std::string>& values) {
    begin_list(field, values.size(), 8);
    for (const std::string& value : values) {
      put_varint(bytes_, value.size());
      bytes_ += value;
    }
    return *this;
  }
  std::string done() && { return std::move(bytes_ += '\0'); }

 private:
  static std::uint64_t zigzag(std::int64_t value) {
    return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  }
  void begin(int field, int type) {
    bytes_ += static_cast<char>((field - last_) << 4 | type);
    last_ = field;
  }
  void begin_list(int field, std::size_t size, int type) {
    begin(field, 9);
    if (size < 15) {
      bytes_ += static_cast<char>(size << 4 | static_cast<std::size_t>(type));
    } else {
      bytes_ += static_cast<char>(0xf0 | type);
      put_varint(bytes_, size);
    }
  }

  std::string bytes_;
  int last_ = 0;
};

// The hybrid of runs and packed bits, here one run of packed bits, lowest first.
std::string packed(const std::vector<std::uint32_t>& values, int width) {
  std::string bytes;
  const std::size_t groups = (values.size() + 7) / 8;
  put_varint(bytes, groups << 1 | 1);
  std::uint64_t waiting = 0;
  int bits = 0;
  for (std::size_t at = 0; at < groups * 8; ++at) {
    waiting |= static_cast<std::uint64_t>(at < values.size() ? values[at] : 0) << bits;
    for (bits += width; bits >= 8; bits -= 8, waiting >>= 8) bytes += static_cast<char>(waiting);
  }
  return bytes;
}

std::string page(std::string_view values, Struct header_of_type, int field, std::int32_t type) {
  const auto size = static_cast<std::int64_t>(values.size());
  Struct header;
  header.i32(1, type).i32(2, size).i32(3, size).nested(field, std::move(header_of_type));
  return std::move(header).done().append(values);
}

Struct data_header(std::int64_t count, Encoding encoding) {
  Struct header;
  header.i32(1, count).i32(2, encoding).i32(3, rle).i32(4, rle);
  return header;
}

std::string dictionary_page(const std::vector<std::string>& words) {
  std::string values;
  for (const std::string& word : words) {
    put_little(values, word.size(), 4);
    values += word;
  }
  Struct header;
  header.i32(1, static_cast<std::int64_t>(words.size())).i32(2, plain);
  return page(values, std::move(header), 7, kDictionaryPage);
}

}  // namespace

ParquetFile::ParquetFile(std::ostream& out, std::vector<ParquetColumn> columns)
    : out_(out), columns_(std::move(columns)), chunks_(columns_.size()) {
  write(kMagic);
}

void ParquetFile::write(std::string_view bytes) {
  out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  at_ += static_cast<std::int64_t>(bytes.size());
}

void ParquetFile::add(const std::vector<Value>& row) {
  for (std::size_t at = 0; at < columns_.size(); ++at) {
    Chunk& chunk = chunks_[at];
    if (columns_[at].type == ParquetColumn::Type::number) {
      chunk.numbers.push_back(std::get<std::int64_t>(row[at]));
      continue;
    }
    const auto& text = std::get<std::optional<std::string_view>>(row[at]);
    if (!text) {
      chunk.texts.push_back(kAbsent);
      continue;
    }
    const auto [word, fresh] = chunk.known.try_emplace(std::string(*text), static_cast<std::uint32_t>(chunk.words.size()));
    if (fresh) chunk.words.emplace_back(*text);
    chunk.texts.push_back(word->second);
  }
  ++rows_;
}

ParquetFile::Written ParquetFile::write_chunk(const ParquetColumn& column, const Chunk& chunk) {
  Written written{.first_page = at_, .data_page = at_, .values = rows_};
  std::string values;
  if (column.type == ParquetColumn::Type::number) {
    for (const std::int64_t number : chunk.numbers) put_little(values, static_cast<std::uint64_t>(number), 8);
    write(page(values, data_header(rows_, plain), 5, kDataPage));
  } else {
    write(dictionary_page(chunk.words));
    written.data_page = at_;
    std::vector<std::uint32_t> there, words;
    for (const std::uint32_t word : chunk.texts) {
      there.push_back(word != kAbsent ? 1 : 0);
      if (word != kAbsent) words.push_back(word);
    }
    const std::string levels = packed(there, 1);
    put_little(values, levels.size(), 4);
    values += levels;
    const int width = static_cast<int>(std::bit_width(chunk.words.size() > 1 ? chunk.words.size() - 1 : 1));
    values += static_cast<char>(width);
    values += packed(words, width);
    write(page(values, data_header(rows_, rle_dictionary), 5, kDataPage));
  }
  written.bytes = at_ - written.first_page;
  return written;
}

void ParquetFile::end_group() {
  if (rows_ == 0) return;
  Group group{.columns = {}, .rows = rows_};
  for (std::size_t at = 0; at < columns_.size(); ++at) {
    group.columns.push_back(write_chunk(columns_[at], chunks_[at]));
    chunks_[at] = {};
  }
  groups_.push_back(std::move(group));
  rows_ = 0;
}

void ParquetFile::finish(const std::vector<std::pair<std::string, std::string>>& facts) {
  end_group();
  std::vector<Struct> schema(1);
  schema.front().text(4, "hotlens").i32(5, static_cast<std::int64_t>(columns_.size()));
  for (const ParquetColumn& column : columns_) {
    const bool number = column.type == ParquetColumn::Type::number;
    Struct element;
    element.i32(1, number ? int64 : byte_array).i32(3, number ? kRequired : kOptional).text(4, column.name);
    if (!number) element.i32(6, kUtf8);
    schema.push_back(std::move(element));
  }
  std::vector<Struct> groups;
  std::int64_t rows = 0;
  for (const Group& group : groups_) {
    std::vector<Struct> chunks;
    std::int64_t bytes = 0;
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      const Written& written = group.columns[at];
      const bool number = columns_[at].type == ParquetColumn::Type::number;
      Struct meta;
      meta.i32(1, number ? int64 : byte_array)
          .numbers(2, number ? std::vector<std::int64_t>{plain} : std::vector<std::int64_t>{plain, rle, rle_dictionary})
          .texts(3, {columns_[at].name})
          .i32(4, 0)
          .i64(5, written.values)
          .i64(6, written.bytes)
          .i64(7, written.bytes)
          .i64(9, written.data_page);
      if (!number) meta.i64(11, written.first_page);
      Struct chunk;
      chunk.i64(2, written.first_page).nested(3, std::move(meta));
      chunks.push_back(std::move(chunk));
      bytes += written.bytes;
    }
    Struct entry;
    entry.list(1, std::move(chunks)).i64(2, bytes).i64(3, group.rows);
    groups.push_back(std::move(entry));
    rows += group.rows;
  }
  std::vector<Struct> pairs;
  for (const auto& [key, value] : facts) pairs.emplace_back().text(1, key).text(2, value);
  Struct footer;
  footer.i32(1, 2).list(2, std::move(schema)).i64(3, rows).list(4, std::move(groups)).list(5, std::move(pairs)).text(6, "hotlens");
  const std::string bytes = std::move(footer).done();
  write(bytes);
  std::string end;
  put_little(end, bytes.size(), 4);
  write(end);
  write(kMagic);
}

}  // namespace hotlens::report
