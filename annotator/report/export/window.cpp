#include "annotator/report/export/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "annotator/report/export/chrome_events.h"
#include "annotator/trace/scan.h"
#include "annotator/trace/windows.h"

namespace hotlens::report {
namespace {

using trace::kNowhere;

// The elements of a trace's list of events, one after the other, as they stand in its text.
class Elements {
 public:
  explicit Elements(trace::Source& source) : text_(source) {}

  // Goes to the front of the list; false where there is none.
  bool find_list() {
    constexpr std::string_view kList = "\"traceEvents\"";
    constexpr std::size_t kOverlap = 256;  // bytes that what is looked for may take
    for (;;) {
      const std::string_view text = text_.rest();
      const std::size_t first = trace::skip_space(text, 0);
      if (begins_ && first < text.size() && text[first] == '[') return go_to(first + 1);
      for (std::size_t key = text.find(kList); key != kNowhere; key = text.find(kList, key + 1)) {
        const std::size_t colon = trace::skip_space(text, key + kList.size());
        const std::size_t open = trace::skip_space(text, std::min(colon + 1, text.size()));
        if (open < text.size() && text[colon] == ':' && text[open] == '[') return go_to(open + 1);
      }
      begins_ = begins_ && first == text.size();
      text_.consume(text.size() - std::min(text.size(), kOverlap));
      if (!text_.more()) return false;
    }
  }

  // Valid until the next call; nothing at the end of the list, and where its text is damaged.
  std::optional<std::string_view> next() {
    text_.consume(std::exchange(length_, 0));
    for (;;) {
      const std::string_view text = text_.rest();
      const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n,"), text.size());
      const std::size_t end = begin < text.size() && text[begin] == '{' ? trace::end_of_brackets(text, begin) : kNowhere;
      if (end != kNowhere || (begin < text.size() && text[begin] != '{')) {
        text_.consume(begin);
        if (end == kNowhere) return std::nullopt;
        length_ = end - begin;
        return text_.rest().substr(0, length_);
      }
      if (!text_.more()) return std::nullopt;
    }
  }

  std::size_t at() const { return text_.consumed(); }  // after next() gave nothing: the bracket that closes the list

 private:
  bool go_to(std::size_t at) {
    text_.consume(at);
    return true;
  }

  trace::Windows text_;
  bool begins_ = true;
  std::size_t length_ = 0;  // of the element that was given
};

bool reaches_in(const trace::Events& events, std::size_t event, const TraceWindow& window) {
  return events.start[event] < window.to && events.end(event) > window.from;
}

// Whether an event that is not complete belongs to the window: names of threads and processes to all.
bool is_kept(std::string_view element, const TraceWindow& window) {
  const nlohmann::json event = nlohmann::json::parse(element, nullptr, false);
  if (!event.is_object()) return false;
  if (event.value("ph", nlohmann::json()) == "M") return true;
  const auto time = event.find("ts");
  if (time == event.end() || !time->is_number()) return false;
  const double microseconds = time->get<double>();
  const auto edge = [](Ns at) { return static_cast<double>(at.count()) / 1000; };
  return microseconds >= edge(window.from) && microseconds < edge(window.to);
}

// What is done with each element of the list: left out, taken, or looked at.
enum class Use : std::uint8_t { look, take, leave };

std::vector<Use> uses_of(const trace::Events& events, const TraceWindow& window) {
  std::vector<Use> uses;
  for (std::size_t event = 0; event < events.size(); ++event) {
    if (events.index[event] >= uses.size()) uses.resize(events.index[event] + std::size_t{1}, Use::look);
    uses[events.index[event]] = reaches_in(events, event, window) ? Use::take : Use::leave;
  }
  return uses;
}

// The text's own events; false where it is not what was read.
bool write_own(const profile::Annotated& annotated, const TraceWindow& window, ChromeEvents& events) {
  const auto& list = annotated.trace.list_end;
  std::error_code status;  // a pipe cannot be read twice
  if (!list || !is_whole(annotated.issues) || !std::filesystem::is_regular_file(annotated.trace_file, status)) return false;
  Result<trace::Source> source = trace::Source::open(annotated.trace_file);
  if (!source) return false;
  Elements elements(*source);
  if (!elements.find_list()) return false;
  const std::vector<Use> uses = uses_of(annotated.trace.events, window);
  std::size_t number = 0;
  while (const auto element = elements.next()) {
    const Use use = number < uses.size() ? uses[number] : Use::look;
    if (use == Use::take || (use == Use::look && is_kept(*element, window))) events.write(*element);
    ++number;
  }
  return elements.at() == list->at;
}

std::string written(const trace::Trace& trace, const std::string& events) {
  return fmt::format(R"({{"schemaVersion":1,"baseTimeNanoseconds":{},"displayTimeUnit":"ms","traceEvents":[{}]}})", trace.base.count(),
                     events);
}

}  // namespace

Result<std::string> export_window(const profile::Annotated& annotated, const TraceWindow& window) {
  const trace::Events& events = annotated.trace.events;
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (reaches_in(events, event, window)) chosen.push_back(event);
  }
  if (chosen.size() > window.most) {
    return std::unexpected(
        Error{ErrorCode::usage,
              fmt::format("{} events lie in this window, {} at most can be exported; zoom in and export again", chosen.size(), window.most),
              {}});
  }
  std::ostringstream out;
  ChromeEvents own(out, true);
  if (write_own(annotated, window, own)) return written(annotated.trace, out.str());
  std::ostringstream anew;
  ChromeEvents read(anew, true);
  write_anew(annotated.trace, chosen, read);
  return written(annotated.trace, anew.str());
}

}  // namespace hotlens::report
