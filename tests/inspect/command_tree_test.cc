#include "inspect/command_tree.h"

#include <gtest/gtest.h>

namespace pel::inspect {
namespace {

CommandTree program() {
  const CommandOption help{{"-h", "--help"}, "", {}, "Say how it's used", false, false};
  const CommandOption mode{{"--mode"}, "MODE", {"fast", "slow"}, "How", false, false};
  const CommandOption file{{"FILE"}, "", {}, "What to read", true, true};
  return {"tool", "Does things", {help}, {{"open", "Opens", {help, mode, file}, {}}}};
}

TEST(CompletionScript, BashOffersCommandsOptionsAndValues) {
  const std::string script = completion_script(program(), Shell::Bash);
  EXPECT_NE(script.find("'tool') words='open -h --help'"), std::string::npos) << script;
  EXPECT_NE(script.find("'tool open:--mode') COMPREPLY=($(compgen -W 'fast slow' -- \"$word\"))"),
            std::string::npos)
      << script;
  EXPECT_NE(script.find("'tool open') words='-h --help --mode'; COMPREPLY=($(compgen -f"), std::string::npos)
      << script;
}

TEST(CompletionScript, QuotesApostrophesInHelp) {
  for (const Shell shell : {Shell::Zsh, Shell::Fish})
    EXPECT_NE(completion_script(program(), shell).find("it'\\''s"), std::string::npos);
}

TEST(ManualPage, HasEveryCommandAndEscapesRoffSyntax) {
  CommandTree tree = program();
  tree.commands[0].options[2].help = ".hidden \\ files";
  const std::string page = manual_page(tree, {"1.0", {{"0", "Fine."}}, {}, {}});
  EXPECT_NE(page.find(".TH TOOL 1"), std::string::npos);
  EXPECT_NE(page.find(".SS tool open"), std::string::npos);
  EXPECT_NE(page.find("\\fB\\-\\-mode\\fR \\fIMODE\\fR"), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&.hidden \\e files.\n"), std::string::npos) << page;
}

}  // namespace
}  // namespace pel::inspect
