// The search field and its matches: stages, modules, operators, kernels and files of the whole step.
import type { Commands } from "./commands";
import { element } from "./dom";
import { time } from "./format";
import type { Match } from "./messages";
import type { State } from "./state";
import type { Store } from "./store";

export interface SearchBox {
  readonly root: HTMLElement;
  readonly focus: () => void;
  readonly render: (state: State) => void;
}

const TYPING_MS = 120; // a pause in typing after which is searched

function line(match: Match, position: number, at: number, commands: Commands): HTMLElement {
  const count = match.count > 1 ? ` ×${match.count}` : "";
  return element(
    "li",
    {
      class: position === at ? "match here" : "match",
      title: match.detail,
      attributes: { role: "option", "aria-selected": String(position === at) },
      on: { mousedown: (event) => event.preventDefault(), click: () => commands.follow(match, position) },
    },
    element("span", { class: "kind", text: match.kind }),
    element("span", { class: "label", text: `${match.label}${count}` }),
    element("span", { class: "dim", text: match.detail }),
    element("span", { class: "number", text: match.time > 0 ? time(match.time) : "" }),
  );
}

export function createSearch(store: Store, commands: () => Commands, leave: () => void): SearchBox {
  const input = element("input", { attributes: { type: "search", placeholder: "/ search", "aria-label": "search the step", spellcheck: "false" } });
  const list = element("ul", { class: "matches", attributes: { role: "listbox", "aria-label": "matches" } });
  const root = element("div", { class: "search" }, input, list);
  let typing = 0;
  const search = (): void => store.dispatch({ type: "search", open: true, query: input.value.trim() });
  input.addEventListener("input", () => {
    clearTimeout(typing);
    typing = window.setTimeout(search, TYPING_MS);
  });
  input.addEventListener("focus", () => store.dispatch({ type: "search", open: true }));
  input.addEventListener("blur", () => store.dispatch({ type: "search", open: false }));
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") return leave();
    if (event.key === "ArrowDown") commands().run("next match");
    else if (event.key === "ArrowUp") commands().run("previous match");
    else if (event.key === "Enter") {
      if (store.get().search.answer?.query !== input.value.trim()) return search();
      if (store.get().search.at < 0) commands().run("next match");
      return leave();
    } else return;
    event.preventDefault();
  });

  function render({ search: { open, answer, query, at } }: State): void {
    root.classList.toggle("open", open && query !== "");
    if (!open) return;
    const matches = answer?.query === query ? answer.matches : undefined;
    if (matches === undefined) return list.replaceChildren(element("li", { class: "dim", text: query === "" ? "" : "searching…" }));
    const more = (answer?.total ?? 0) - matches.length;
    list.replaceChildren(
      ...matches.map((match, position) => line(match, position, at, commands())),
      ...(matches.length === 0 ? [element("li", { class: "dim", text: `Nothing in this step is named ${query}.` })] : []),
      ...(more > 0 ? [element("li", { class: "dim", text: `${more} more: type more of the name` })] : []),
    );
    list.querySelector(".here")?.scrollIntoView({ block: "nearest" });
  }
  return { root, focus: () => input.select(), render };
}
