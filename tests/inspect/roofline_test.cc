#include "inspect/roofline.h"

#include <gtest/gtest.h>

namespace pel::inspect {
namespace {

Roofline made_up() {
  Roofline roofline;
  roofline.machine.cpu = "a <processor>";
  roofline.machine.threads = 1;
  roofline.machine.levels = {{"L1", 32768, 100}, {"memory", 0, 10}};
  roofline.machine.peaks = {{DType::F32, 100, "wide"}};
  roofline.points = {{"add", "add_f32", DType::F32, 1000, 0, 200, 100, "memory"},
                     {"mm", "mm_f32", DType::F32, 1000, 100000, 2000, 1000, "products"}};
  return roofline;
}

int lines_wider_than(const std::string& text, int columns) {
  int wide = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    wide += columns_of(std::string_view(text).substr(begin, end - begin)) > columns ? 1 : 0;
    begin = end + 1;
  }
  return wide;
}

TEST(Roofline, RatesFollowFromBytesFlopsAndTime) {
  const Roofline r = made_up();
  EXPECT_DOUBLE_EQ(r.points[0].gb_per_s(), 5);
  EXPECT_DOUBLE_EQ(r.points[0].share(), 0.5);
  EXPECT_DOUBLE_EQ(r.points[1].gflop_per_s(), 50);
  EXPECT_DOUBLE_EQ(r.points[1].flops_per_byte(), 100);
}

TEST(Roofline, AxesHoldEveryRoofAndEveryPointWithFlops) {
  const RooflineAxes axes = axes_of(made_up());
  EXPECT_LT(axes.min_x, 0);    // 1 FLOP per byte: the ridge of L1
  EXPECT_GT(axes.max_x, 2);    // 100: the matmul
  EXPECT_LE(axes.min_y, 1);    // a decade below the peak
  EXPECT_GT(axes.max_y, 2.0);  // the peak
}

TEST(Roofline, PlotMarksPointsWithFlopsAndFitsTheTerminal) {
  Terminal terminal;
  for (const int columns : {60, 80, 100}) {
    terminal.columns = columns;
    const std::string drawn = plot(made_up(), terminal);
    EXPECT_EQ(lines_wider_than(drawn, columns), 0) << drawn;
    EXPECT_NE(drawn.find('b'), std::string::npos) << drawn;
    EXPECT_EQ(drawn.find("a\n"), std::string::npos) << drawn;
    EXPECT_NE(drawn.find("L1"), std::string::npos) << drawn;
    EXPECT_NE(drawn.find("f32"), std::string::npos) << drawn;
  }
}

TEST(Roofline, PlotWithoutPointsShowsTheRoofs) {
  Roofline r = made_up();
  r.points.clear();
  EXPECT_NE(plot(r, Terminal{}).find("memory"), std::string::npos);
}

TEST(Roofline, PictureEscapesNamesAndHasACircleForEachPointWithFlops) {
  const std::string svg = made_up().svg();
  EXPECT_NE(svg.find("a &lt;processor>"), std::string::npos);
  EXPECT_NE(svg.find("<circle"), std::string::npos);
  EXPECT_EQ(svg.find("<circle"), svg.rfind("<circle"));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace pel::inspect
