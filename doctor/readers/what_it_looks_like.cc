// The table kLikenesses is the list of what is recognized; its first row that fits wins.
#include "doctor/readers/what_it_looks_like.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>
#if !defined(__wasi__)  // a browser has files alone
#include <dirent.h>
#include <sys/stat.h>
#endif

#include "base/file_name.h"

namespace pel::doctor {
namespace {

struct LookedAt {
  std::string_view bytes;  // the first ones
  std::string_view text;   // the same without a byte order mark and blanks before it
  std::string name;        // of the file, in lower case

  bool begins(std::string_view with) const { return bytes.starts_with(with); }
  bool has(std::string_view piece) const { return bytes.find(piece) != std::string_view::npos; }
  // A key of JSON, or a string of a pickle, whose quotes are left out there.
  bool has_key(std::string_view key) const { return has(fmt::format("\"{}\"", key)); }
  bool is_named(std::string_view suffix) const { return name.ends_with(suffix); }
  bool is_object() const { return text.starts_with('{'); }
  bool is_list() const { return text.starts_with('['); }
  bool is_page() const { return has_tag("<!doctype html") || has_tag("<html"); }
  bool is_pickle() const { return bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5; }
  bool is_text() const {
    return std::ranges::none_of(bytes, [](unsigned char c) {
      return c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\x1b';
    });
  }
  std::string_view first_line() const { return text.substr(0, text.find('\n')); }
  bool has_tag(std::string_view tag) const {  // at its beginning, in capitals or not
    return text.size() >= tag.size() && std::equal(tag.begin(), tag.end(), text.begin(), [](char a, char b) {
             return a == std::tolower(static_cast<unsigned char>(b));
           });
  }
};

struct Likeness {
  bool (*fits)(const LookedAt&);
  std::string_view what, advice;
};

constexpr std::string_view kRecord = "Record a trace: prof.export_chrome_trace(\"run.json\")";
constexpr std::string_view kMemoryViewer =
    "Open it at the memory viewer of PyTorch, https://pytorch.org/memory_viz, or record a trace: "
    "prof.export_chrome_trace(\"run.json\")";
constexpr std::string_view kRocprof =
    "Write a database instead: rocprofv3 --output-format rocpd, or a trace: --output-format pftrace";

constexpr Likeness kLikenesses[] = {
    {[](const LookedAt& f) { return f.text.empty(); }, "an empty file",
     "The profiled program was killed, or has not written it yet: record it again"},

    // Reports of other profilers.
    {[](const LookedAt& f) {
       return f.begins("NVIDIA Tegra Profiler Report") || f.is_named(".nsys-rep") || f.is_named(".qdrep") ||
              f.is_named(".qdstrm");
     },
     "a report of Nsight Systems", "Export it: nsys export --type sqlite --output run.sqlite run.nsys-rep"},
    {[](const LookedAt& f) { return f.is_named(".ncu-rep") || f.begins(std::string_view("NVR\0", 4)); },
     "a report of Nsight Compute, which has no timeline",
     "Record the run with PyTorch's profiler or with nsys profile"},
    {[](const LookedAt& f) { return f.begins(std::string_view("SQLite format 3\0", 16)); },
     "a SQLite database",
     "This build of the doctor reads no databases: use a build with PELLUCID_DOCTOR_SQLITE, or record a "
     "trace: "
     "prof.export_chrome_trace(\"run.json\")"},
    {[](const LookedAt& f) { return f.is_named(".xplane.pb") || (f.begins("\n") && f.has("/host:CPU")); },
     "a profile of XLA in its own format (xplane)",
     "Give the .trace.json.gz that jax.profiler.trace(folder) writes next to it"},
    {[](const LookedAt& f) {
       const std::string_view line = f.first_line();
       const auto has = [&](std::string_view word) { return line.find(word) != std::string_view::npos; };
       return !f.is_object() && !f.is_list() && has(",") &&
              (has("Kernel_Name") || has("KernelName") || has("Agent_Id") || has("Start_Timestamp") ||
               has("BeginNs"));
     },
     "a table of rocprof (CSV)", kRocprof},
    {[](const LookedAt& f) { return f.is_object() && f.has_key("rocprofiler-sdk-tool"); },
     "the JSON output of rocprofv3", kRocprof},
    {[](const LookedAt& f) { return f.is_object() && f.has("speedscope.app/file-format-schema"); },
     "a profile of speedscope", kRecord},

    // Other files of PyTorch.
    {[](const LookedAt& f) { return f.is_pickle() && f.has("device_traces"); },
     "a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot)", kMemoryViewer},
    {[](const LookedAt& f) { return f.is_pickle() && f.has("segments") && f.has("total_size"); },
     "a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot)", kMemoryViewer},
    {[](const LookedAt& f) {
       return f.is_object() && f.has_key("segments") && (f.has_key("device_traces") || f.has_key("blocks"));
     },
     "a memory snapshot of PyTorch as JSON", kMemoryViewer},
    {[](const LookedAt& f) { return f.is_page() && (f.has("MemoryViz") || f.has("add_local_files")); },
     "a page of PyTorch about a memory snapshot",
     "Open it in a browser, or record a trace: "
     "prof.export_chrome_trace(\"run.json\")"},
    {[](const LookedAt& f) {
       return f.text.starts_with("[[") && f.text.size() > 2 &&
              std::isdigit(static_cast<unsigned char>(f.text[2])) != 0;
     },
     "a memory timeline of PyTorch (export_memory_timeline)", kRecord},
    {[](const LookedAt& f) { return f.is_object() && f.has_key("schema") && f.has_key("nodes"); },
     "an execution trace of PyTorch (ExecutionTraceObserver), which has no times",
     "Record a trace of the profiler: prof.export_chrome_trace(\"run.json\")"},
    {[](const LookedAt& f) { return f.begins("PK\x03\x04") && f.has("data.pkl"); },
     "a checkpoint of PyTorch (torch.save)", kRecord},
    {[](const LookedAt& f) { return f.is_pickle(); }, "a pickle of Python", kRecord},

    // Archives and programs.
    {[](const LookedAt& f) { return f.begins("PK\x03\x04") || f.begins("PK\x05\x06"); }, "a zip archive",
     "Unpack it and give the traces inside"},
    {[](const LookedAt& f) { return f.bytes.size() > 262 && f.bytes.substr(257, 5) == "ustar"; },
     "a tar archive", "Unpack it and give the traces inside"},
    {[](const LookedAt& f) {
       return f.begins(
           "\xFD"
           "7zXZ");
     },
     "a file packed by xz", "Decompress it: xz -d"},
    {[](const LookedAt& f) { return f.begins("BZh"); }, "a file packed by bzip2", "Decompress it: bzip2 -d"},
    {[](const LookedAt& f) { return f.begins("\x04\x22\x4D\x18"); }, "a file packed by lz4",
     "Decompress it: lz4 -d"},
    {[](const LookedAt& f) { return f.begins("7z\xBC\xAF\x27\x1C"); }, "a 7z archive",
     "Unpack it and give the traces inside"},
    {[](const LookedAt& f) { return f.begins("PAR1"); }, "a Parquet table", kRecord},
    {[](const LookedAt& f) {
       return f.begins(
                  "\x7f"
                  "ELF") ||
              f.begins("MZ");
     },
     "a program", "Run it under a profiler, and give the trace that the profiler writes"},

    // Text.
    {[](const LookedAt& f) { return f.is_page(); }, "an HTML page", kRecord},
    {[](const LookedAt& f) {
       return f.is_named(".py") ||
              (f.begins("#!") && f.first_line().find("python") != std::string_view::npos) ||
              (f.is_text() && (f.text.starts_with("import ") || f.text.starts_with("\"\"\"")));
     },
     "a Python program",
     "Run it under the profiler, torch.profiler.profile(), and give what "
     "prof.export_chrome_trace(\"run.json\") "
     "writes"},
    {[](const LookedAt& f) { return f.is_object() && f.has_key("nbformat"); }, "a Jupyter notebook", kRecord},
    {[](const LookedAt& f) {
       return f.is_object() && (f.has_key("schemaVersion") || f.has_key("deviceProperties"));
     },
     "the beginning of a trace of PyTorch, which ends before its events",
     "The profiled program was killed, or has not written all of it yet: record it again"},
    {[](const LookedAt& f) { return f.is_object(); }, "JSON without the key traceEvents", kRecord},
    {[](const LookedAt& f) { return f.is_list(); }, "a JSON list whose elements are not events", kRecord},
    {[](const LookedAt& f) { return f.is_named(".csv") && f.is_text(); }, "a table (CSV)", kRecord},
    {[](const LookedAt& f) { return f.is_text(); }, "text", kRecord},
    {[](const LookedAt&) { return true; }, "binary data of an unknown format", kRecord},
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

LookedAt look_at(std::string_view name, std::string_view bytes) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF", kBlanks = " \t\r\n";
  std::string_view text = bytes;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return {bytes, text, lower(file_name(name))};
}

// What profilers call their traces.
constexpr std::string_view kTraceNames[] = {".json",    ".json.gz",        ".json.zst", ".sqlite",
                                            ".pftrace", ".perfetto-trace", ".db"};

// A folder of TensorBoard has its traces four levels below. Larger trees are not searched to their end.
constexpr int kMaxFolderLevels = 5;
constexpr std::size_t kMaxEntries = 10'000;

struct TracesInside {
  std::vector<std::string> paths;
  std::size_t entries = 0;  // that were seen

#if defined(__wasi__)
  void search(const std::string&, int) {}
#else
  void search(const std::string& folder, int levels) {
    DIR* const all = opendir(folder.c_str());
    if (all == nullptr) return;
    std::vector<std::string> folders;
    while (const dirent* entry = readdir(all)) {
      const std::string name = entry->d_name;
      if (name == "." || name == ".." || ++entries > kMaxEntries) continue;
      const std::string path = folder + (folder.ends_with('/') ? "" : "/") + name;
      const std::string small = lower(name);
      if (std::ranges::any_of(kTraceNames, [&](std::string_view end) { return small.ends_with(end); })) {
        paths.push_back(path);
      } else if (levels > 1 && is_directory(path)) {
        folders.push_back(path);
      }
    }
    closedir(all);
    for (const std::string& inner : folders) search(inner, levels - 1);
  }
#endif
};

}  // namespace

#if defined(__wasi__)
bool is_directory(const std::string&) { return false; }
#else
bool is_directory(const std::string& path) {
  struct stat about{};
  return stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}
#endif

std::string not_a_trace(std::string_view name, std::string_view first_bytes) {
  const LookedAt file = look_at(name, first_bytes.substr(0, kLookedAtBytes));
  for (const Likeness& likeness : kLikenesses) {
    if (likeness.fits(file))
      return fmt::format("{} is not a trace: it looks like {}. {}", name, likeness.what, likeness.advice);
  }
  return {};  // the last one fits
}

std::string is_a_directory(const std::string& path) {
  TracesInside inside;
  inside.search(path, kMaxFolderLevels);
  std::ranges::sort(inside.paths);
  if (inside.paths.empty()) return fmt::format("{} is a directory without traces. {}", path, kRecord);
  constexpr std::size_t kMaxListed = 3;
  std::string listed;
  for (std::size_t i = 0; i < std::min(inside.paths.size(), kMaxListed); ++i)
    listed += (i == 0 ? "" : " ") + inside.paths[i];
  const std::size_t more = inside.paths.size() - std::min(inside.paths.size(), kMaxListed);
  return fmt::format("{} is a directory. Give the files inside that are traces: {}{}", path, listed,
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace pel::doctor
