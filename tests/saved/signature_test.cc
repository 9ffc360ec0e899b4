// Signed plans: what is not signed with a trusted key, or has changed since, is not loaded.
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "compile/equal_bits.h"
#include "saved/container.h"
#include "saved/files.h"
#include "support/errors.h"

namespace pel {
namespace {

bool can_sign() {
  try {
    SigningKey::generate();
    return true;
  } catch (const ValueError&) {
    return false;
  }
}

class SignedPlan : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_sign()) GTEST_SKIP() << "the library is built without libsodium";
    const NoGrad no_grad;
    io::save_safetensors(path("w.safetensors"), ArrayView<NamedTensor>{{"w", randn({16, 8})}});
    const Tensor weight = io::SafetensorsFile(path("w.safetensors")).tensor("w"), own = randn({16});
    const auto fast = compile([=](const Tensor& x) { return relu(linear(x, weight)) * own; });
    x_ = randn({3, 8});
    expected_ = fast(x_);
    key_ = SigningKey::generate();
    fast.save(path("signed.pel"), {.weights = {path("w.safetensors")}, .signing_key = key_});
    fast.save(path("unsigned.pel"), {.weights = {path("w.safetensors")}});
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  LoadOptions trusting(std::vector<PublicKey> keys) const { return {.trusted_keys = std::move(keys)}; }
  std::string refusal(const std::string& name, const std::vector<PublicKey>& keys) const {
    return test::thrown_by<FileError>([&] { load_compiled(path(name), trusting(keys)); }).message();
  }

  test::Folder folder_;
  SigningKey key_;
  Tensor x_, expected_;
};

TEST_F(SignedPlan, IsLoadedWithTheTrustedKey) {
  const PublicKey other = SigningKey::generate().public_key();
  for (const LoadOptions& options :
       {trusting({key_.public_key()}), trusting({other, key_.public_key()}), LoadOptions{}})
    EXPECT_TRUE(test::equal_bits(load_compiled(path("signed.pel"), options).call<Tensor>(x_), expected_));
  const PublicKey read_back = PublicKey::from_hex(key_.public_key().hex());
  EXPECT_NO_THROW(load_compiled(path("signed.pel"), trusting({read_back})));
  EXPECT_EQ(SigningKey::from_hex(key_.hex()).public_key(), key_.public_key());
}

TEST_F(SignedPlan, IsRefusedWithoutASignatureOrWithAnotherKey) {
  EXPECT_NE(refusal("unsigned.pel", {key_.public_key()}).find("it is not signed"), std::string::npos);
  const PublicKey other = SigningKey::generate().public_key();
  EXPECT_NE(refusal("signed.pel", {other}).find("is signed with the key " + key_.public_key().hex()),
            std::string::npos);
}

// The checksums of the changed files are right: only the signature tells.
TEST_F(SignedPlan, IsRefusedIfAnySectionHasChanged) {
  const std::string bytes = test::read_file(path("signed.pel"));
  const std::vector<saved::Section> sections = saved::read_sections(bytes, saved::CheckWeights::Yes);
  ASSERT_EQ(sections.back().kind, saved::SectionKind::Signature);
  const auto try_with = [&](const std::vector<saved::Section>& changed) {
    saved::write_sections(path("changed.pel"), changed);
    EXPECT_THROW(load_compiled(path("changed.pel"), trusting({key_.public_key()})), FileError);
  };
  for (std::size_t s = 0; s < sections.size(); ++s) {
    const std::string content(sections[s].bytes);
    for (std::size_t at = 0; at < content.size(); at += 1 + content.size() / 97) {
      std::string changed = content;
      changed[at] = static_cast<char>(changed[at] ^ 4);
      std::vector<saved::Section> with = sections;
      with[s].bytes = changed;
      try_with(with);
    }
    std::vector<saved::Section> without = sections;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(s));
    try_with(without);
  }
  saved::write_sections(path("changed.pel"), sections);
  EXPECT_NO_THROW(load_compiled(path("changed.pel"), trusting({key_.public_key()})));
}

TEST_F(SignedPlan, CoversTheWeightsOfOtherFiles) {
  io::save_safetensors(path("w.safetensors"), ArrayView<NamedTensor>{{"w", randn({16, 8})}});
  LoadOptions options = trusting({key_.public_key()});
  options.checks_weights = false;
  EXPECT_NE(test::thrown_by<FileError>([&] { load_compiled(path("signed.pel"), options); })
                .message()
                .find("has been changed since it was signed"),
            std::string::npos);
}

TEST(Keys, AreHexadecimalText) {
  const std::string text = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";
  EXPECT_EQ(PublicKey::from_hex(text).hex(),
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
  EXPECT_THROW(PublicKey::from_hex("00"), ValueError);
  EXPECT_THROW(SigningKey::from_hex(std::string(64, 'g')), ValueError);
}

// RFC 8032, section 7.1, test 1: the public key of a secret one.
TEST(Keys, ArePairsOfEd25519) {
  if (!can_sign()) GTEST_SKIP() << "the library is built without libsodium";
  EXPECT_EQ(SigningKey::from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
                .public_key()
                .hex(),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
}

}  // namespace
}  // namespace pel
