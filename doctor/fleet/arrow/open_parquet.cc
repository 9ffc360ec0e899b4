// The module that writes Parquet and reads it, with Arrow.
#include <bit>
#include <memory>

#include <arrow/api.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>

#include "doctor/fleet/arrow/object_store.h"
#include "doctor/fleet/parquet_file.h"

namespace pel::fleet {
namespace {

constexpr int kZstdLevel = 3, kZstdLevelOfPlain = 9;

std::shared_ptr<arrow::DataType> arrow_type(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::Number:
      return arrow::int64();
    case ColumnKind::Flag:
      return arrow::boolean();
    case ColumnKind::Decimal:
      return arrow::float64();
    case ColumnKind::Text:
      break;
  }
  return arrow::utf8();
}

std::string said(const arrow::Status& status) { return status.ok() ? "" : status.message(); }

using ArrayResult = arrow::Result<std::shared_ptr<arrow::Array>>;

template <class Builder, class F>
ArrayResult filled(Builder builder, const ColumnRows& rows, F&& value_of) {
  ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<std::int64_t>(rows.values.size())));
  for (std::size_t i = 0; i < rows.values.size(); ++i) {
    if (rows.is_there[i] != 0) {
      builder.UnsafeAppend(value_of(rows.values[i]));
    } else {
      builder.UnsafeAppendNull();
    }
  }
  return builder.Finish();
}

ArrayResult array_of(ColumnKind kind, const ColumnRows& rows) {
  switch (kind) {
    case ColumnKind::Number:
      return filled(arrow::Int64Builder(), rows, [](std::int64_t value) { return value; });
    case ColumnKind::Flag:
      return filled(arrow::BooleanBuilder(), rows, [](std::int64_t value) { return value != 0; });
    case ColumnKind::Decimal:
      return filled(arrow::DoubleBuilder(), rows,
                    [](std::int64_t value) { return std::bit_cast<double>(value); });
    case ColumnKind::Text:
      break;
  }
  arrow::StringBuilder words;
  ARROW_RETURN_NOT_OK(words.AppendValues(rows.texts));
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> dictionary, words.Finish());
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> places,
                        filled(arrow::Int32Builder(), rows,
                               [](std::int64_t value) { return static_cast<std::int32_t>(value); }));
  return arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int32(), arrow::utf8()), places,
                                            dictionary);
}

std::shared_ptr<parquet::WriterProperties> properties_of(std::span<const FleetColumn> columns) {
  parquet::WriterProperties::Builder builder;
  builder.compression(parquet::Compression::ZSTD)->compression_level(kZstdLevel)->created_by("pellucid");
  for (const FleetColumn& column : columns) {
    const std::string name(column.name);
    if (column.kind != ColumnKind::Number || column.packing == Packing::Dictionary) continue;
    builder.disable_dictionary(name);
    // BYTE_STREAM_SPLIT would take a fifth less of what is plain, but DuckDB reads it of integers since 2.0
    // only.
    if (column.packing == Packing::Differences) {
      builder.encoding(name, parquet::Encoding::DELTA_BINARY_PACKED);
    } else {
      builder.encoding(name, parquet::Encoding::PLAIN)->compression_level(name, kZstdLevelOfPlain);
    }
  }
  return builder.build();
}

class ArrowParquetFile final : public ParquetFile {
 public:
  ArrowParquetFile() = default;
  ArrowParquetFile(const ArrowParquetFile&) = delete;
  ArrowParquetFile& operator=(const ArrowParquetFile&) = delete;
  // The writer's destructor would write the end of the file, and the store would then have it.
  ~ArrowParquetFile() override {
    if (file_ != nullptr && !file_->closed()) static_cast<void>(file_->Abort());
  }
  arrow::Status open(const std::string& path, std::span<const FleetColumn> columns) {
    arrow::FieldVector fields;
    for (const FleetColumn& column : columns) {
      kinds_.push_back(column.kind);
      fields.push_back(
          arrow::field(std::string(column.name), arrow_type(column.kind), column.nulls == Nulls::Yes));
    }
    ARROW_ASSIGN_OR_RAISE(file_, opened_to_write(path));
    ARROW_ASSIGN_OR_RAISE(writer_, parquet::arrow::FileWriter::Open(*arrow::schema(std::move(fields)),
                                                                    arrow::system_memory_pool(), file_,
                                                                    properties_of(columns)));
    return writer_->AddKeyValueMetadata(
        arrow::key_value_metadata({"pellucid.fleet"}, {std::to_string(kSchemaVersion)}));
  }
  std::string add(std::span<const ColumnRows> columns) override { return said(try_add(columns)); }
  std::string close() override {
    const arrow::Status closed = writer_->Close();
    return said(closed.ok() ? file_->Close() : closed);
  }
  std::uint64_t bytes() const override { return static_cast<std::uint64_t>(file_->Tell().ValueOr(0)); }

 private:
  arrow::Status try_add(std::span<const ColumnRows> columns) {
    ARROW_RETURN_NOT_OK(writer_->NewRowGroup());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> array, array_of(kinds_[i], columns[i]));
      ARROW_RETURN_NOT_OK(writer_->WriteColumnChunk(*array));
    }
    return arrow::Status::OK();
  }

  std::vector<ColumnKind> kinds_;
  std::shared_ptr<arrow::io::OutputStream> file_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

// Appends to values, in the order of the rows.
template <class Array, class F>
void append(const arrow::Array& chunk, ColumnRows& rows, F&& value_at) {
  const auto& array = static_cast<const Array&>(chunk);
  for (std::int64_t i = 0; i < array.length(); ++i) {
    const bool is_there = array.IsValid(i);
    rows.is_there.push_back(is_there ? 1 : 0);
    rows.values.push_back(is_there ? value_at(array, i) : 0);
  }
}

arrow::Status append_texts(const arrow::Array& chunk, ColumnRows& rows) {
  const auto& array = static_cast<const arrow::DictionaryArray&>(chunk);
  const auto& words = static_cast<const arrow::StringArray&>(*array.dictionary());
  const auto before = static_cast<std::int64_t>(rows.texts.size());
  for (std::int64_t i = 0; i < words.length(); ++i) rows.texts.push_back(words.GetString(i));
  for (std::int64_t i = 0; i < array.length(); ++i) {
    const std::int64_t place = array.IsValid(i) ? array.GetValueIndex(i) : 0;
    if (array.IsValid(i) && (place < 0 || place >= words.length()))
      return arrow::Status::Invalid("a text is not in its dictionary");
    rows.is_there.push_back(array.IsValid(i) ? 1 : 0);
    rows.values.push_back(before + place);
  }
  return arrow::Status::OK();
}

arrow::Status append_chunk(ColumnKind kind, const arrow::Array& chunk, ColumnRows& rows) {
  switch (kind) {
    case ColumnKind::Number:
      append<arrow::Int64Array>(chunk, rows,
                                [](const auto& array, std::int64_t i) { return array.Value(i); });
      break;
    case ColumnKind::Flag:
      append<arrow::BooleanArray>(chunk, rows,
                                  [](const auto& array, std::int64_t i) { return array.Value(i) ? 1 : 0; });
      break;
    case ColumnKind::Decimal:
      append<arrow::DoubleArray>(chunk, rows, [](const auto& array, std::int64_t i) {
        return std::bit_cast<std::int64_t>(array.Value(i));
      });
      break;
    case ColumnKind::Text:
      return append_texts(chunk, rows);
  }
  return arrow::Status::OK();
}

class ArrowParquetInput final : public ParquetInput {
 public:
  arrow::Status open(const std::string& path, std::span<const FleetColumn> columns) {
    columns_.assign(columns.begin(), columns.end());
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::io::RandomAccessFile> file, opened_to_read(path));
    parquet::arrow::FileReaderBuilder builder;
    ARROW_RETURN_NOT_OK(builder.Open(file));
    const parquet::SchemaDescriptor& schema = *builder.raw_reader()->metadata()->schema();
    parquet::ArrowReaderProperties properties;
    for (const FleetColumn& column : columns) {
      int at = schema.ColumnIndex(std::string(column.name));
      if (at < 0 && !column.name_in_1.empty()) at = schema.ColumnIndex(std::string(column.name_in_1));
      if (at < 0 && column.nulls == Nulls::No)
        return arrow::Status::Invalid("it has no column ", column.name);
      places_.push_back(at);
      if (at < 0) continue;
      wanted_.push_back(at);
      if (column.kind == ColumnKind::Text) properties.set_read_dictionary(at, true);
    }
    ARROW_ASSIGN_OR_RAISE(reader_, builder.properties(properties)->Build());
    return arrow::Status::OK();
  }
  bool next(std::span<ColumnRows> columns, std::string& error) override {
    if (group_ == reader_->num_row_groups()) return false;
    error = said(try_next(columns));
    return true;
  }

 private:
  arrow::Status try_next(std::span<ColumnRows> columns) {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Table> table,
                          reader_->ReadRowGroup(group_++, wanted_));
    int at = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      ColumnRows& rows = columns[i];
      if (places_[i] < 0) {
        rows.values.assign(static_cast<std::size_t>(table->num_rows()), 0);
        rows.is_there.assign(static_cast<std::size_t>(table->num_rows()), 0);
        continue;
      }
      const arrow::ChunkedArray& column = *table->column(at++);
      const arrow::DataType& type = *column.type();
      const bool is_right = columns_[i].kind == ColumnKind::Text ? type.id() == arrow::Type::DICTIONARY
                                                                 : type.Equals(*arrow_type(columns_[i].kind));
      if (!is_right) return arrow::Status::Invalid("its column ", columns_[i].name, " is ", type.ToString());
      if (columns_[i].nulls == Nulls::No && column.null_count() != 0)
        return arrow::Status::Invalid("its column ", columns_[i].name, " has nulls");
      for (const std::shared_ptr<arrow::Array>& chunk : column.chunks())
        ARROW_RETURN_NOT_OK(append_chunk(columns_[i].kind, *chunk, rows));
    }
    return arrow::Status::OK();
  }

  std::vector<FleetColumn> columns_;
  std::vector<int> places_;  // of the columns in the file; -1: it does not have it
  std::vector<int> wanted_;  // those that it has
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  int group_ = 0;
};

template <class File, class Base>
Base* opened(const std::string& path, std::span<const FleetColumn> columns, std::string& error) {
  auto file = std::make_unique<File>();
  error = said(file->open(path, columns));
  return error.empty() ? file.release() : nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ParquetFile* pellucid_open_parquet(
    const std::string& path, std::span<const FleetColumn> columns, std::string& error) {
  return opened<ArrowParquetFile, ParquetFile>(path, columns, error);
}

extern "C" __attribute__((visibility("default"))) ParquetInput* pellucid_read_parquet(
    const std::string& path, std::span<const FleetColumn> columns, std::string& error) {
  return opened<ArrowParquetInput, ParquetInput>(path, columns, error);
}

}  // namespace pel::fleet
