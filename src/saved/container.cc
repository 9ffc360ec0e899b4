#include "saved/container.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "base/checksum.h"
#include "io/file_replacement.h"

namespace pel::saved {
namespace {

constexpr std::string_view kFirstBytes = "PELPLAN\n";
constexpr std::size_t kFixedBytes = 16, kEntryBytes = 24, kChecksumBytes = 8;

constexpr std::uint64_t padding_after(std::uint64_t bytes) {
  return (kSectionAlignment - bytes % kSectionAlignment) % kSectionAlignment;
}

bool is_known(std::uint32_t kind) {
  return kind >= static_cast<std::uint32_t>(SectionKind::Plan) &&
         kind <= static_cast<std::uint32_t>(SectionKind::Signature);
}

}  // namespace

void write_sections(const std::string& path, ArrayView<Section> sections) {
  ByteWriter writer;
  writer.number(kVersion);
  writer.number(static_cast<std::uint32_t>(sections.size()));
  for (const Section& section : sections) {
    writer.number(static_cast<std::uint32_t>(section.kind));
    writer.number(0);
    writer.wide(section.bytes.size());
    writer.wide(checksum(section.bytes));
  }
  const std::string header = std::string(kFirstBytes) + std::move(writer).bytes();
  ByteWriter end;
  end.wide(checksum(header));
  const std::string header_checksum = std::move(end).bytes();

  io::FileReplacement file(path);
  std::uint64_t written = 0;
  const auto write = [&](std::string_view bytes) {
    file.write(bytes.data(), bytes.size());
    written += bytes.size();
  };
  constexpr char kZeros[kSectionAlignment] = {};
  write(header);
  write(header_checksum);
  for (const Section& section : sections) {
    write({kZeros, padding_after(written)});
    write(section.bytes);
  }
  file.take_its_place();
}

std::vector<Section> read_sections(std::string_view bytes, CheckWeights check) {
  PEL_CHECK(bytes.size() >= kFixedBytes && bytes.starts_with(kFirstBytes), FileError,
            "it does not begin as a saved plan");
  ByteReader reader(bytes.substr(kFirstBytes.size()));
  const std::uint32_t version = reader.number(), count = reader.number();
  PEL_CHECK(version == kVersion, FileError,
            "it has version {} of the format, and this version of Pellucid reads {}; save it again", version,
            kVersion);
  PEL_CHECK(count <= (bytes.size() - kFixedBytes) / kEntryBytes, FileError,
            "it is cut: {} sections do not fit into its {} bytes", count, bytes.size());
  const std::uint64_t header_bytes = kFixedBytes + std::uint64_t{count} * kEntryBytes;
  struct Entry {
    std::uint32_t kind, zero;
    std::uint64_t length, checksum;
  };
  std::vector<Entry> entries(count);
  for (Entry& entry : entries) entry = {reader.number(), reader.number(), reader.wide(), reader.wide()};
  const std::uint64_t header_checksum = reader.wide();
  PEL_CHECK(reader.is_good(), FileError, "it is cut in the list of its sections");
  PEL_CHECK(header_checksum == checksum(bytes.substr(0, header_bytes)), FileError,
            "it is damaged: the list of its sections has another checksum");

  std::vector<Section> sections;
  std::uint64_t begin = header_bytes + kChecksumBytes;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    PEL_CHECK(is_known(entry.kind) && entry.zero == 0, FileError, "section {} has an unknown kind", i);
    const std::uint64_t padding = padding_after(begin);
    const std::uint64_t left = bytes.size() - begin;  // `begin` is inside: checked below, and above
    PEL_CHECK(padding <= left && entry.length <= left - padding, FileError,
              "it is cut: section {} of {} bytes does not fit into the {} bytes after byte {}", i,
              entry.length, left, begin);
    PEL_CHECK(std::ranges::all_of(bytes.substr(begin, padding), [](char c) { return c == 0; }), FileError,
              "it is damaged: the bytes before section {} are not zero", i);
    const Section section{static_cast<SectionKind>(entry.kind), bytes.substr(begin + padding, entry.length)};
    if (section.kind != SectionKind::Weights || check == CheckWeights::Yes) {
      PEL_CHECK(entry.checksum == checksum(section.bytes), FileError,
                "it is damaged: section {} has another checksum", i);
    }
    sections.push_back(section);
    begin += padding + entry.length;
  }
  PEL_CHECK(begin == bytes.size(), FileError, "it has {} bytes after its last section", bytes.size() - begin);
  return sections;
}

}  // namespace pel::saved
