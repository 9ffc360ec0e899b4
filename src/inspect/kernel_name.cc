#include "inspect/kernel_name.h"

#include <fmt/format.h>

#include "base/json_writer.h"

namespace pel::inspect {
namespace {

constexpr std::string_view kGuessed = "(guessed)";

std::string in_colors(const std::string& explanation, const Terminal& terminal) {
  const std::size_t end = explanation.find('\n');
  std::string text = terminal.bold(explanation.substr(0, end));
  for (std::size_t at = end; at < explanation.size();) {
    const std::size_t guessed = std::min(explanation.find(kGuessed, at), explanation.size());
    text += explanation.substr(at, guessed - at);
    at = guessed;
    if (at == explanation.size()) break;
    text += terminal.yellow(kGuessed);
    at += kGuessed.size();
  }
  return text;
}

// Neither a terminal nor JSON accepts invalid UTF-8.
std::string printable(std::string_view text) {
  std::string clean(text);
  for (char& c : clean)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  return clean;
}

}  // namespace

KernelNames decode_names(const std::vector<std::string>& names) {
  KernelNames decoded;
  for (const std::string& name : names) decoded.names.push_back(doctor::decode_kernel_name(name));
  return decoded;
}

std::vector<std::string> names_in(std::istream& lines) {
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) names.push_back(line);
  }
  return names;
}

std::string KernelNames::text(const Terminal& terminal) const {
  std::string text;
  for (const doctor::KernelName& name : names) {
    if (!text.empty()) text += '\n';
    if (names.size() > 1)
      text +=
          terminal.dim(printable(name.text.substr(0, static_cast<std::size_t>(terminal.columns) - 2))) + '\n';
    text += in_colors(doctor::explain(name), terminal);
  }
  return text;
}

std::string KernelNames::json() const {
  JsonWriter json("pellucid.kernel_name/1");
  json.key("names").begin_array();
  for (const doctor::KernelName& name : names) {
    json.begin_object().field("title", name.title).field("family", doctor::name(*name.family));
    json.field("text", printable(name.text)).field("was_mangled", name.was_mangled);
    json.key("facts").begin_array();
    for (const doctor::ShownFact& fact : doctor::shown_facts(name)) {
      json.begin_object().field("label", fact.label).field("value", printable(fact.value));
      json.field("is_guessed", fact.is_guessed).field("from", printable(fact.from)).end_object();
    }
    json.end_array().end_object();
  }
  return json.finish();
}

}  // namespace pel::inspect
