#include "server/session/advice/silencing.h"

#include <algorithm>
#include <set>

#include "annotator/advice/rules/rules.h"
#include "annotator/lab/whatif/kinds.h"
#include "protocol/reader.h"
#include "server/features/words/format.h"
#include "server/session/client/choice_dialog.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using protocol::Json;
using protocol::Reader;
using protocol::Reply;

constexpr const char* kAll = "all";

std::string title_of(const advice::Silenced& place) {
  if (const lab::Kind* kind = lab::kind_named(place.kind)) return std::string(kind->title);
  const auto rule = std::ranges::find(rules::rules(), std::string_view(place.kind), &rules::Rule::kind);
  return rule != rules::rules().end() ? std::string(rule->title) : features::plain(place.kind);
}

std::string file_of(const advice::Silenced& place) {
  return features::plain(place.file.filename().string());
}

}  // namespace

void Silencing::silence(const Json& argument, Reply reply) {
  const Reader reader(argument);
  const auto kind = reader.maybe("kind"), profile = reader.maybe("profile"), line = reader.maybe("line");
  const std::string wanted = kind ? kind->string() : "", of = profile ? profile->string() : "";
  const auto at = line ? std::optional(line->unsigned32()) : std::nullopt;
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  const auto found = events_.find(of, wanted, at);
  if (!found) {
    const std::string none = "No such hint is shown now. Take it from its code actions.";
    client_.show(MessageType::warning, none);
    return reply(Json{{"silenced", false}, {"message", none}});
  }
  auto held = std::make_shared<Reply>(std::move(reply));
  auto keep = [where = *found] { return advice::silence(where.list, where.place); };
  loop_.work(std::move(keep), [this, held](const Result<void>& kept) {
    if (kept) {
      events_.changed();
      return (*held)(Json{{"silenced", true}});
    }
    client_.show(MessageType::error, kept.error().message);
    (*held)(Json{{"silenced", false}, {"message", kept.error().message}});
  });
}

void Silencing::tell_again(const Json& argument, Reply reply) {
  const Reader reader(argument);
  const auto every = reader.maybe(kAll);
  const bool all = every && every->boolean();
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  auto read = [lists = events_.lists()] {
    Entries entries;
    for (const fs::path& list : std::set<fs::path>(lists.begin(), lists.end())) {
      for (advice::Silenced& place : advice::read_silenced(list)) entries.push_back({list, std::move(place)});
    }
    return entries;
  };
  auto held = std::make_shared<Reply>(std::move(reply));
  loop_.work(std::move(read), [this, all, held](Result<Entries> found) {
    const Entries entries = found ? std::move(*found) : Entries();
    if (entries.empty()) {
      client_.show(MessageType::info, "No advice is silenced in this workspace.");
      return (*held)(Json{{"told", 0}});
    }
    if (all) return tell(entries, held);
    (*held)(Json{{"told", 0}, {"asked", true}});
    ask(entries);
  });
}

// The list begins with all of them.
void Silencing::ask(const Entries& entries) {
  const std::string every = "All " + std::to_string(entries.size());
  if (!client_.can.dialogs) {
    std::string words = "Silenced: ";
    for (const Entry& entry : entries) {
      words += (&entry == entries.data() ? "" : ", ") + title_of(entry.place) + " in " + file_of(entry.place);
    }
    return client_.ask(MessageType::info, words + ".", {{"Tell all again", kAll}},
                       [this, entries](const std::string&) { tell(entries, nobody()); });
  }
  Json choices = Json::array();
  choices.push_back({{"label", every}, {"detail", "everything that was silenced"}, {"file", "silenced.jsonl"}, {"chosen", false}});
  for (const auto& [list, place] : entries) {
    choices.push_back({{"label", title_of(place)}, {"detail", features::plain(place.text)}, {"file", file_of(place)}, {"chosen", false}});
  }
  ask_for_choice(client_, {.title = "Silenced advice", .message = "What shall be told again", .words = {}, .choices = std::move(choices)},
                 [this, entries](std::size_t index) { tell(index == 0 ? entries : Entries{entries[index - 1]}, nobody()); });
}

void Silencing::tell(Entries entries, Held reply) {
  auto keep = [entries = std::move(entries)]() -> Result<std::size_t> {
    for (const auto& [list, place] : entries) {
      if (auto kept = advice::tell_again(list, place); !kept) return std::unexpected(kept.error());
    }
    return entries.size();
  };
  loop_.work(std::move(keep), [this, reply](const Result<std::size_t>& told) {
    events_.changed();
    if (told) return (*reply)(Json{{"told", *told}});
    client_.show(MessageType::error, told.error().message);
    (*reply)(Json{{"told", 0}, {"message", told.error().message}});
  });
}

}  // namespace hotlens::session
