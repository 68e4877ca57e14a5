"""Google Tag Manager template: its file, its own tests, and its events at the service."""

import json
import re
import shutil
import subprocess
from typing import Any, Final

import pytest
from playwright.sync_api import Page

from tests.support.project import ROOT
from tests.support.service import eventually
from tests.support.storefront import Storefront

MODULES: Final = ROOT / "widgets/node_modules"
SECTIONS: Final = dict(
    re.findall(
        r"^___([A-Z_]+)___\n+(.*?)\n(?=\n\n___|\Z)",
        (ROOT / "clients/gtm/template.tpl").read_text("utf-8"),
        re.MULTILINE | re.DOTALL,
    )
)
CODE: Final = SECTIONS["SANDBOXED_JS_FOR_WEB_TEMPLATE"]
PERMISSIONS: Final = json.loads(SECTIONS["WEB_PERMISSIONS"])
# Tag Manager reads ECMAScript 5.1 with `const`, `let` and arrow functions, and knows no
# `this`, `new` or regular expressions.
SYNTAX: Final = """
const acorn = require("acorn");
const KNOWN = `Program VariableDeclaration VariableDeclarator Identifier Literal
  CallExpression MemberExpression ArrowFunctionExpression BlockStatement ExpressionStatement
  IfStatement ReturnStatement ObjectExpression Property ArrayExpression BinaryExpression
  LogicalExpression ConditionalExpression UnaryExpression AssignmentExpression ForStatement
  UpdateExpression`;
const known = new Set(KNOWN.split(/\\s+/));
const options = { ecmaVersion: 6, allowReturnOutsideFunction: true };
const tree = acorn.parse(process.argv[1], options);
const wrong = [];
(function walk(node) {
  if (!node || typeof node !== "object") return;
  if (Array.isArray(node)) return node.forEach(walk);
  const isShort = node.shorthand || node.computed && node.type === "Property";
  if (node.type && (!known.has(node.type) || node.regex || node.method || isShort)) {
    wrong.push(`${node.type} at ${node.start}`);
  }
  Object.values(node).forEach(walk);
})(tree);
console.log(JSON.stringify(wrong));
"""
# What Tag Manager gives a template; each call needs its permission.
SANDBOX: Final = """
const sandbox = (permissions, window) => {
  const globals = {};
  let dataKeys = [];
  for (const { instance } of permissions) {
    const [keys] = instance.param.filter(({ key }) => /^keys$|^keyPatterns$/.test(key));
    if (instance.key.publicId === "read_data_layer") {
      dataKeys = keys.value.listItem.map(({ string }) => string);
    } else for (const { mapKey, mapValue } of keys.value.listItem) {
      const pairs = mapKey.map(({ string }, at) => [string, mapValue[at]]);
      const { key, ...may } = Object.fromEntries(pairs);
      globals[key.string] = may;
    }
  }
  const may = (key, ...acts) => {
    for (const act of acts) {
      if (!globals[key]?.[act]?.boolean) throw new Error(`may not ${act} ${key}`);
    }
  };
  const at = (path) => path.split(".").reduce((found, name) => found?.[name], window);
  const put = (path, value) => {
    const names = path.split("."), last = names.pop();
    (names.length ? at(names.join(".")) : window)[last] = value;
  };
  const apis = {
    callInWindow: (key, ...values) =>
      at(key).apply(at(key.replace(/[.][^.]*$/, "")), values),
    copyFromDataLayer: (key) => Object.assign({}, ...window.dataLayer ?? [])[key],
    copyFromWindow: at,
    createArgumentsQueue: (key, list) => {
      if (!at(key)) put(key, function () { at(list).push(arguments); });
      if (!at(list)) put(list, []);
      return at(key);
    },
    getType: (value) =>
      Array.isArray(value) ? "array" : value === null ? "null" : typeof value,
    makeNumber: Number,
    makeString: String,
    setInWindow: (key, value, isForced) => { if (isForced || !at(key)) put(key, value); },
  };
  const checks = {
    callInWindow: (key) => may(key, "execute"),
    copyFromDataLayer: (key) => {
      if (!dataKeys.includes(key)) throw new Error(`may not read ${key} of the data layer`);
    },
    copyFromWindow: (key) => may(key, "read"),
    createArgumentsQueue: (...keys) => keys.forEach((key) => may(key, "read", "write")),
    setInWindow: (key) => may(key, "write"),
  };
  const require = (name) => {
    if (!apis[name]) throw new Error(`there is no ${name}`);
    return (...values) => { checks[name]?.(...values); return apis[name](...values); };
  };
  return { apis, require };
};
const runTag = (code, data, require) =>
  new Function("require", "data", code)(require, data);
"""
SCENARIOS: Final = """
const { deepStrictEqual, ok } = require("node:assert");
const { code, permissions, setup, scenarios } = JSON.parse(process.argv[1]);
for (const scenario of scenarios) {
  const { apis, require: give } = sandbox(permissions, {});
  const called = { gtmOnSuccess: 0, gtmOnFailure: 0 };
  const ended = { gtmOnSuccess: () => called.gtmOnSuccess++,
    gtmOnFailure: () => called.gtmOnFailure++ };
  const tools = {
    mock: (name, act) => (apis[name] = act),
    runCode: (data) => runTag(code, { ...data, ...ended }, give),
    assertThat: (found) => ({ isEqualTo: (wanted) => deepStrictEqual(found, wanted) }),
    assertApi: (name) => ({ wasCalled: () => ok(called[name], name),
      wasNotCalled: () => ok(!called[name], name) }),
  };
  try {
    const test = new Function(...Object.keys(tools), `${setup}\\n${scenario.code}`);
    test(...Object.values(tools));
  } catch (error) {
    throw new Error(`${scenario.name}: ${error.message}`);
  }
}
console.log(scenarios.length);
"""
needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (MODULES / "acorn").is_dir(),
    reason=(
        "the template's code was NOT checked: Node or what `npm ci` installs in widgets/ "
        "is missing; apt-get install npm, then tools/setup test"
    ),
)


def node(script: str, argument: str) -> Any:
    """Return the JSON that a script of Node prints."""
    done = subprocess.run(
        [shutil.which("node") or "node", "-e", script, argument],
        cwd=ROOT / "widgets",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def unindented(text: str, columns: int) -> str:
    return re.sub(rf"^ {{{columns}}}", "", text, flags=re.MULTILINE)


def test_the_file_has_what_tag_manager_imports() -> None:
    about, fields = (json.loads(SECTIONS[name]) for name in ("INFO", "TEMPLATE_PARAMETERS"))

    assert list(SECTIONS) == [
        *("TERMS_OF_SERVICE", "INFO", "TEMPLATE_PARAMETERS"),
        *("SANDBOXED_JS_FOR_WEB_TEMPLATE", "WEB_PERMISSIONS", "TESTS", "NOTES"),
    ]
    assert (about["type"], about["containerContexts"]) == ("TAG", ["WEB"])
    names = {field["name"] for field in fields}
    assert len(names) == len(fields)
    assert set(re.findall(r"\bdata\.(\w+)", CODE)) == names | {
        "gtmOnSuccess",
        "gtmOnFailure",
    }
    for field in fields:
        for condition in field.get("enablingConditions", ()):
            assert condition["paramName"] in names
        for validator in field.get("valueValidators", ()):
            if validator["type"] == "REGEX":
                re.compile(validator["args"][0])
    values = {one["value"] for one in fields[0]["selectItems"]}
    assert set(re.findall(r": '([a-z-]+)'[,\n]", CODE)) <= values


@needs_node
def test_the_code_is_within_what_tag_manager_reads() -> None:
    assert node(SYNTAX, CODE) == []


@needs_node
@pytest.mark.parametrize(
    "line",
    ["const a = /b/;", "new Object();", "const {a} = data;", "const b = `a`;", "f(...c);"],
)
def test_control_code_that_tag_manager_refuses_is_found(line: str) -> None:
    assert node(SYNTAX, f"{CODE}\n{line}") != []


def scenarios(permissions: list[Any]) -> str:
    """Return the template's own tests, as JSON."""
    listed, setup = SECTIONS["TESTS"].split("\nsetup: |-\n")
    found = re.findall(
        r"^- name: (.*)\n  code: \|-\n((?:    .*\n?)+)", listed, re.MULTILINE
    )
    assert len(found) == listed.count("- name:")
    return json.dumps(
        {
            "code": CODE,
            "permissions": permissions,
            "setup": unindented(setup, 2),
            "scenarios": [
                {"name": name, "code": unindented(code, 4)} for name, code in found
            ],
        }
    )


@needs_node
def test_the_templates_own_tests_pass() -> None:
    assert node(SANDBOX + SCENARIOS, scenarios(PERMISSIONS)) >= 6


@needs_node
@pytest.mark.parametrize("left_out", range(len(PERMISSIONS)))
def test_control_without_a_permission_they_fail(left_out: int) -> None:
    fewer = [one for at, one in enumerate(PERMISSIONS) if at != left_out]

    with pytest.raises(AssertionError, match="may not"):
        node(SANDBOX + SCENARIOS, scenarios(fewer))


@pytest.mark.parametrize("is_early", [True, False])
def test_what_the_tag_sends_arrives_once_before_and_after_the_script_has_loaded(
    page: Page, front: Storefront, *, is_early: bool
) -> None:
    pushed = {
        "event": "add_to_cart",
        "ecommerce": {"currency": "EUR", "items": [{"item_id": "p1", "price": 19.5}]},
    }
    tag = f"""window.dataLayer = [{json.dumps(pushed)}]; {SANDBOX}
      window.ended = [];
      runTag({json.dumps(CODE)}, {{ event: "ga4", gtmOnSuccess: () => ended.push("success"),
        gtmOnFailure: () => ended.push("failure") }},
        sandbox({json.dumps(PERMISSIONS)}, window).require);"""
    head = f"<script>{tag}</script>" if is_early else ""
    page.goto(front.page("/", "", head=head))
    page.wait_for_function("window.ProductRecs?.core")
    if not is_early:
        page.evaluate(f"() => {{ {tag} }}")

    eventually(lambda: front.events("add-to-cart"))

    (event,) = front.events("add-to-cart")
    assert (event["item_id"], event["value"], event["quantity"]) == ("p1", 19.5, 1)
    assert event["currency"] == "EUR"
    assert page.evaluate("window.ended") == ["success"]
