// What a formatter may change of a statement, and what it may not.
#include <algorithm>
#include <random>
#include <string>

#include "annotator/source/outline/normal_form.h"
#include "annotator/source/outline/tree_data.h"
#include "tests/unit/catch.h"
#include "tests/unit/source/real_files.h"

using namespace hotlens::source;

namespace {

NormalTokens normal(std::string_view statement) {
  return normal_form(statement, tokens_between(statement, 0, static_cast<std::uint32_t>(statement.size())));
}

std::uint64_t hash(std::string_view statement) {
  return hash_of(normal(statement));
}

// The tree of an expression as text, without its parentheses.
std::string shape(std::string_view text, TSNode node) {
  const std::string_view kind = ts_node_type(node);
  if (kind == "parenthesized_expression") return shape(text, ts_node_named_child(node, 0));
  const std::uint32_t children = ts_node_child_count(node);
  if (children == 0) return std::string(text.substr(ts_node_start_byte(node), ts_node_end_byte(node) - ts_node_start_byte(node)));
  std::string out = "[" + std::string(kind);
  for (std::uint32_t i = 0; i < children; ++i) out += " " + shape(text, ts_node_child(node, i));
  return out + "]";
}

std::string shape(const std::string& text) {
  const Tree tree = Tree::parse(text);
  REQUIRE_FALSE(tree.has_errors());
  const SyntaxTree syntax = tree.data().syntax();
  return shape(text, ts_tree_root_node(syntax.get()));
}

class Expressions {
 public:
  explicit Expressions(std::uint32_t seed) : random_(seed) {}

  std::string any(int depth) {
    const std::string inner = depth == 0 || below(5) == 0 ? atom() : compound(depth - 1);
    return below(2) == 0 ? "(" + inner + ")" : inner;
  }

 private:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  std::string atom() { return std::string(1, "abcdxyz"[below(7)]); }

  std::string compound(int depth) {
    static const std::vector<std::string> kSigns{" + ",      " - ",      " * ", " // ", " ** ", " < ",  " == ",  " in ",
                                                 " not in ", " is not ", " | ", " & ",  " << ", " or ", " and ", " @ "};
    // `not` is no operand of what binds tighter, unless in parentheses.
    const auto part = [&] {
      const std::string made = any(depth);
      return made.starts_with("not ") ? "(" + made + ")" : made;
    };
    switch (below(8)) {
      case 0:
        return "not " + part();
      case 1:
        return "-" + part();
      case 2:
        return part() + " if " + part() + " else " + part();
      case 3:
        return "f(" + part() + ", k=" + part() + ")";
      case 4:
        return "(" + part() + ")." + atom() + "[" + part() + "]";
      default:
        return part() + kSigns[below(kSigns.size())] + part();
    }
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("The normal form forgets what a formatter may change, and nothing else") {
  struct Case {
    std::string_view a, b;
    bool same;
  };
  for (const Case& each : std::initializer_list<Case>{
           {"x = f( a,b )", "x = f(\n    a,\n    b,  # why\n)", true},
           {"x = 'a'", "x = \"a\"", true},
           {"x = 0xE+1", "x = 0xE + 1", true},
           {"x = 0XE-1", "x = 0XE - 1", true},
           {"x = 1e+1", "x = 1e + 1", false},
           {"x = 1E-1", "x = 1E - 1", false},
           {"x = 'it\\'s'", "x = \"it's\"", true},
           {"x = U'a'", "x = 'a'", true},
           {"x = 'a'", "x = 'b'", false},
           {"x = r'a'", "x = 'a'", false},
           {"x = b'a'", "x = 'a'", false},
           {"x = (a + b)", "x = a + b", true},
           {"x = ((a + b))", "x = a + b", true},
           {"x = (a, b)", "x = a, b", true},
           {"x = (a,)", "x = (a)", false},
           {"x = (a,)", "x = a,", true},
           {"(a, b,) = c", "a, b = c", true},
           {"x = (a) + (b)", "x = a + b", true},
           {"x = (a + b) * c", "x = a + b * c", false},
           {"x = (a * b) + c", "x = a * b + c", true},
           {"x = a - (b - c)", "x = a - b - c", false},
           {"x = (a ** b) ** c", "x = a ** b ** c", false},
           {"x = (-a) ** b", "x = -a ** b", false},
           {"x = a ** (-b)", "x = a ** -b", true},
           {"x = (a < b) < c", "x = a < b < c", false},
           {"x = (not a) in b", "x = not a in b", false},
           {"x = not (a in b)", "x = not a in b", true},
           {"x = a is not (b)", "x = a is not b", true},
           {"f(a, (b if c else d))", "f(a, b if c else d)", true},
           {"f((b if c else d) if e else g)", "f(b if c else d if e else g)", false},
           {"f((a for a in b), c)", "f(a for a in b, c)", false},
           {"f((a, b))", "f(a, b)", false},
           {"f((a := b))", "f(a := b)", false},
           {"x = (lambda: a)()", "x = lambda: a()", false},
           {"x = (await a).b", "x = await a.b", false},
           {"await (a.b(c))", "await a.b(c)", true},
           {"x = (a).b[(c)]", "x = a.b[c]", true},
           {"x = (1).real", "x = 1 .real", false},
           {"x = (yield)", "x = yield", true},
           {"f((yield))", "f(yield)", false},
           {"x = {a: (b or c)}", "x = {a: b or c}", true},
           {"x = (a)(b)", "x = a(b)", true},
           {"x = [(a)]", "x = [a]", true},
           {"f(*(a or b))", "f(*a or b)", false},
           {"print((a))", "print(a)", true},
           {"assert (a), (b)", "assert a, b", true},
           {"assert (a, b)", "assert a, b", false},
           {"del (a), (b)", "del a, b", true},
           {"def f(a: (int) = (1)) -> (str):", "def f(a: int = 1) -> str:", true},
           {"async with (a as b, c as d):", "async with a as b, c as d:", true},
           {"case (a):", "case a:", true},
           {"x = '\\xAB'", "x = '\\xab'", true},
           {"x = 'a b'", "x = 'a  b'", false},
           {"'''a\n  b\n'''", "\"\"\"a\n    b\"\"\"", true},
           {"x = ()", "x =", false},
           {"x = a[0,]", "x = a[0]", false},
           {"x = [0,]", "x = [0]", true},
           {"return (a)", "return a", true},
           {"if (a and b):", "if a and b:", true},
           {"if (a) and (b):", "if a and b:", true},
           {"for (i, j) in (x):", "for i, j in x:", true},
           {"y = a in (b, c)", "y = a in b, c", false},
           {"class A():", "class A:", true},
           {"class A(B,):", "class A(B):", true},
           {"from a import (b, c,)", "from a import b, c", true},
           {"x = 0XFF + 1E5", "x = 0xff + 1e5", true},
           {"x = a \\\n  + b", "x = a + b", true},
           {"f(a, b)", "f(b, a)", false},
           {"f(a)", "f (a,)", true},
           {"del (a, b)", "del a, b", true},
           {"a-1", "a - 1", true},
           {"x = ab", "x = a b", false},
       }) {
    CAPTURE(each.a, each.b);
    CHECK((hash(each.a) == hash(each.b)) == each.same);
  }
}

TEST_CASE("Without the parentheses that the normal form drops, the syntax tree is the same") {
  const auto seed = test::seed();
  CAPTURE(seed);
  Expressions expressions(seed);
  std::ptrdiff_t dropped = 0, tried = 0;
  while (tried < 2000) {
    const std::string text = "v = [" + expressions.any(4) + "]";
    if (Tree::parse(text).has_errors()) continue;
    ++tried;
    std::string plain;
    for (const NormalToken& token : normal(text)) plain += text.substr(token.begin, token.end - token.begin) + " ";
    CAPTURE(text, plain);
    REQUIRE(shape(text) == shape(plain));
    dropped += std::ranges::count(text, '(') - std::ranges::count(plain, '(');
  }
  CHECK(dropped > tried);
}
