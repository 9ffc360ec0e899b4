// The module that writes Parquet, and reads a row of it, with Arrow.
#include <bit>
#include <memory>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>

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
  arrow::Status open(const std::string& path, std::span<const FleetColumn> columns) {
    arrow::FieldVector fields;
    for (const FleetColumn& column : columns) {
      kinds_.push_back(column.kind);
      fields.push_back(
          arrow::field(std::string(column.name), arrow_type(column.kind), column.nulls == Nulls::Yes));
    }
    ARROW_ASSIGN_OR_RAISE(file_, arrow::io::FileOutputStream::Open(path));
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

  static std::string said(const arrow::Status& status) { return status.ok() ? "" : status.message(); }

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
  std::shared_ptr<arrow::io::FileOutputStream> file_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

arrow::Status try_read_row(const std::string& path, std::span<const std::string_view> columns,
                           std::vector<std::string>& values) {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::io::ReadableFile> file,
                        arrow::io::ReadableFile::Open(path));
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<parquet::arrow::FileReader> reader,
                        parquet::arrow::OpenFile(file, arrow::system_memory_pool()));
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Table> table, reader->ReadTable());
  for (const std::string_view name : columns) {
    const std::shared_ptr<arrow::ChunkedArray> column = table->GetColumnByName(std::string(name));
    if (column == nullptr || column->length() != 1)
      return arrow::Status::Invalid("expected one row with the column ", name);
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Scalar> value, column->GetScalar(0));
    values.push_back(value->is_valid ? value->ToString() : "");
  }
  return arrow::Status::OK();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void pellucid_read_parquet_row(
    const std::string& path, std::span<const std::string_view> columns, std::vector<std::string>& values,
    std::string& error) {
  error = ArrowParquetFile::said(try_read_row(path, columns, values));
}

extern "C" __attribute__((visibility("default"))) ParquetFile* pellucid_open_parquet(
    const std::string& path, std::span<const FleetColumn> columns, std::string& error) {
  auto file = std::make_unique<ArrowParquetFile>();
  error = ArrowParquetFile::said(file->open(path, columns));
  return error.empty() ? file.release() : nullptr;
}

}  // namespace pel::fleet
