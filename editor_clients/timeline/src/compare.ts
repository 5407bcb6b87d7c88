// Two profiles side by side, aligned by module: what became faster, slower, new or gone, beyond the noise of the steps.
import { button, element } from "./dom";
import { percent, signedTime, time } from "./format";
import type { Change, CompareRow, Comparison, ProfileSummary } from "./messages";
import { moduleKey, type State } from "./state";
import type { Store } from "./store";

const SIGNS: Readonly<Record<Change, string>> = { faster: "▼", slower: "▲", same: "=", added: "+", removed: "−" };

// Largest change first; what stays within the noise last.
export function sorted(rows: readonly CompareRow[]): CompareRow[] {
  const weight = (row: CompareRow): number => (row.change === "same" ? 0 : Math.abs((row.after ?? 0) - (row.before ?? 0)));
  return [...rows].sort((a, b) => weight(b) - weight(a));
}

// The root has no name but its class.
const nameOfRow = (row: CompareRow): string => row.module.split(".").at(-1) || row.class || "model";

function changeText(row: CompareRow): string {
  if (row.change === "added") return "added";
  if (row.change === "removed") return "removed";
  const by = (row.after ?? 0) - (row.before ?? 0);
  const share = row.before === undefined || row.before === 0 ? "" : ` (${by < 0 ? "−" : "+"}${percent(Math.abs(by) / row.before)})`;
  return row.change === "same" ? "same" : `${signedTime(by)}${share}`;
}

function bar(kind: string, value: number | undefined, most: number): HTMLElement {
  const width = value === undefined || most <= 0 ? 0 : (value / most) * 100;
  return element("span", { class: `pair ${kind}`, style: { width: `${width.toFixed(2)}%` } });
}

function row(each: CompareRow, depth: number, most: number, state: State, store: Store): HTMLElement[] {
  const open = state.expanded.includes(each.module);
  const toggle = each.children > 0 ? button(open ? "▾" : "▸", open ? "hide its parts" : "show its parts", () => store.dispatch({ type: "expand", module: each.module }), "toggle") : element("span", { class: "toggle" });
  const { path } = each;
  const name = path === undefined ? element("span", { text: nameOfRow(each) }) : button(nameOfRow(each), "show this module in the levels", () => store.dispatch({ type: "go", path }));
  const line = element(
    "tr",
    { class: `change ${each.change}`, title: each.noise === undefined ? each.module : `${each.module}: noise ±${time(each.noise)}` },
    element("td", { style: { "padding-left": `${depth * 14}px` } }, toggle, name, element("span", { class: "dim", text: each.module === "" ? "" : ` ${each.class}` })),
    element("td", { text: each.before === undefined ? "" : time(each.before) }),
    element("td", { text: each.after === undefined ? "" : time(each.after) }),
    element("td", { text: `${SIGNS[each.change] ?? ""} ${changeText(each)}` }),
    element("td", { class: "pairs" }, bar("before", each.before, most), bar("after", each.after, most)),
  );
  const parts = open ? sorted(state.comparisons[moduleKey(each.module)]?.rows ?? []) : [];
  return [line, ...parts.flatMap((part) => row(part, depth + 1, most, state, store))];
}

// What all of it comes to: the first question of who compares.
function wholeStep({ before: { stepNs: before }, after: { stepNs: after } }: Comparison): HTMLElement[] {
  if (before === undefined || after === undefined || before === 0) return [];
  const by = after - before;
  const change = by === 0 ? "= same" : `${by < 0 ? SIGNS.faster : SIGNS.slower} ${signedTime(by)} (${by < 0 ? "−" : "+"}${percent(Math.abs(by) / before)})`;
  const texts = ["the step", time(before), time(after), change, ""];
  return [element("tr", { class: "whole", title: "medians of the steps, idle time included" }, ...texts.map((text) => element("td", { text })))];
}

const nameOf = (profile: ProfileSummary): string => profile.source.split(/[\\/]/).at(-1) || profile.id;

export function renderCompare(state: State, store: Store): HTMLElement[] {
  const failure = state.failures["compare "];
  const top = state.comparisons[moduleKey()];
  const close = button("close", "show time and memory again", () => store.dispatch({ type: "compare" }));
  if (failure !== undefined) return [element("h2", {}, "Compare", close), element("p", { class: "error", text: failure })];
  if (top === undefined) return [element("h2", {}, "Compare", close), element("div", { class: "skeleton" })];
  const most = Math.max(1, ...top.rows.flatMap(({ before, after }) => [before ?? 0, after ?? 0]));
  const head = ["module", "before", "after", "change", ""].map((each) => element("th", { text: each }));
  return [
    element("h2", {}, `Before: ${nameOf(top.before)} · after: ${nameOf(top.after)} `, close),
    element("div", { class: "scroll" }, element("table", { class: "compare" }, element("tr", {}, ...head), ...wholeStep(top), ...sorted(top.rows).flatMap((each) => row(each, 0, most, state, store)))),
  ];
}
