#include "saved/signed_content.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "saved/signature.h"

namespace pel::saved {
namespace {

// The message begins with a text of its own, so that no signature of something else is one of a plan.
std::string outline(ArrayView<Section> sections, ArrayView<std::string_view> referred) {
  ByteWriter writer;
  writer.text("Pellucid saved plan");
  writer.number(kVersion);
  writer.number(static_cast<std::uint32_t>(sections.size()));
  for (const Section& section : sections) {
    writer.number(static_cast<std::uint32_t>(section.kind));
    writer.wide(section.bytes.size());
  }
  writer.number(static_cast<std::uint32_t>(referred.size()));
  for (const std::string_view bytes : referred) writer.wide(bytes.size());
  return std::move(writer).bytes();
}

std::vector<std::string_view> pieces_of(std::string_view outline, ArrayView<Section> sections,
                                        ArrayView<std::string_view> referred) {
  std::vector<std::string_view> pieces{outline};
  for (const Section& section : sections) pieces.push_back(section.bytes);
  pieces.insert(pieces.end(), referred.begin(), referred.end());
  return pieces;
}

}  // namespace

std::string signature_section(ArrayView<Section> sections, ArrayView<std::string_view> referred,
                              const SigningKey& key) {
  const std::string first = outline(sections, referred);
  const PublicKey signer = key.public_key();
  return std::string(signer.bytes.begin(), signer.bytes.end()) +
         sign(pieces_of(first, sections, referred), key);
}

void check_signature(ArrayView<Section> sections, ArrayView<std::string_view> referred,
                     ArrayView<PublicKey> trusted) {
  PEL_CHECK(!sections.empty() && sections[sections.size() - 1].kind == SectionKind::Signature, FileError,
            "it is not signed, and LoadOptions::trusted_keys asks for a signature");
  const std::string_view bytes = sections[sections.size() - 1].bytes;
  PublicKey signer;
  PEL_CHECK(bytes.size() == sizeof(signer.bytes) + kSignatureBytes, FileError, "its signature is not valid");
  std::memcpy(signer.bytes.data(), bytes.data(), sizeof(signer.bytes));
  PEL_CHECK(std::ranges::find(trusted, signer) != trusted.end(), FileError,
            "it is signed with the key {}, which LoadOptions::trusted_keys does not have", signer.hex());
  const ArrayView<Section> others(sections.data(), sections.size() - 1);
  const std::string first = outline(others, referred);
  PEL_CHECK(is_signature(bytes.substr(sizeof(signer.bytes)), pieces_of(first, others, referred), signer),
            FileError, "its signature is not that of its content: it has been changed since it was signed");
}

}  // namespace pel::saved
