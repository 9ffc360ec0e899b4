#include "pellucid/extend/site.h"

#include <string>

#include <gtest/gtest.h>

namespace pel {
namespace {

TEST(Site, HasTheFileAndTheLineThatItWasMadeWith) {
  const std::string file = "model" + std::to_string(1) + ".py";  // not a literal
  const Site site = make_site(file, 12);
  EXPECT_STREQ(site.file_name(), "model1.py");
  EXPECT_STREQ(site.function_name(), "");
  EXPECT_EQ(site.line(), 12u);
}

TEST(Site, OfTheSameLineIsStoredOnce) {
  const Site a = make_site("model.py", 12), b = make_site(std::string("model.") + "py", 12);
  EXPECT_EQ(a.file_name(), b.file_name());
  EXPECT_STREQ(make_site("model.py", 13).file_name(), a.file_name());
  EXPECT_EQ(make_site("model.py", 13).line(), 13u);
}

}  // namespace
}  // namespace pel
