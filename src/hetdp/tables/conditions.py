"""Which rows count: the `where` of a table, read from text, checked against the schema, the same in every engine.

.. code-block:: text

    condition  = conjunction {"or" conjunction}
    conjunction = negation {"and" negation}
    negation   = "not" negation | "(" condition ")" | test
    test       = operand ("=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=") operand
               | operand ["not"] "between" operand "and" operand
               | column ["not"] "in" "(" literal {"," literal} ")"
               | column "is" ["not"] "null"
    operand    = column | literal
    column     = name | '"' any name, "" for a quote '"'
    literal    = number | "'" any text, '' for a quote "'" | "true" | "false" | "null"

Logic has three values, as in SQL: a comparison with null is unknown, and a row is kept only where the condition is
true. Nan counts as null. There is no arithmetic and no function, and no cast that could fail on a cell: an engine's
own error would quote the cell.

Engines disagree about what a comparison means (nan, DECIMAL literals, the order of texts, mixed types), so what is
compared is decided here, from the types of the columns:

- whole numbers (up to 64 bits, signed) with whole numbers as integers; with a literal such as 2.5 exactly, too:
  x < 2.5 is x <= 2;
- all other numbers as doubles, and literals beside them are rounded to doubles; integers beyond signed 64 bits
  count among them, and whole numbers do beside a column of doubles;
- texts are equal or not; how they are sorted depends on the engine, so < is refused;
- booleans are equal or not;
- dates, and times without a time zone, with 'YYYY-MM-DD' (midnight), or with a column of the very same type.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any, NamedTuple, NoReturn

import narwhals as nw
from narwhals.dtypes import DType

from hetdp.core.errors import InvalidInput
from hetdp.core.text import listed

#: Brackets and nots inside each other; far below what would exhaust the stack of Python or of an engine.
MAXIMUM_DEPTH = 50
_LONGEST_NUMBER = 400
_INT64 = (-(2**63), 2**63 - 1)
#: Years that fit into a time in nanoseconds whatever the day.
_NANOSECOND_YEARS = (1678, 2261)

_KEYWORDS = frozenset({"and", "or", "not", "in", "is", "null", "between", "true", "false"})
_SAME = {"==": "=", "<>": "!="}
#: What must hold for the opposite of a comparison to be true, once both sides are known.
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_APPLY: dict[str, Callable[[Any, Any], nw.Expr]] = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


# --- The tree ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnName:
    """A column: what the table calls it, where it was written, and how, if otherwise."""

    name: str
    position: int = field(compare=False)
    alias: str | None = field(default=None, compare=False)

    @property
    def written(self) -> str:
        """The name for messages, quoted where it must be."""
        return _quoted(self.alias or self.name)


@dataclass(frozen=True)
class Literal:
    """A value in the text, and where; numbers are int if they are written so."""

    value: float | int | str | bool | None
    position: int = field(compare=False)


@dataclass(frozen=True)
class Relation:
    """A column, one of = != < <= > >=, and what it is compared with."""

    left: ColumnName
    operator: str
    right: ColumnName | Literal


@dataclass(frozen=True)
class IsNull:
    """A column that is null (or nan)."""

    column: ColumnName


@dataclass(frozen=True)
class Negation:
    """Not."""

    part: "Node"


@dataclass(frozen=True)
class Junction:
    """Parts joined by one word, "and" or "or"."""

    word: str
    parts: tuple["Node", ...]


Node = Relation | IsNull | Negation | Junction


@dataclass(frozen=True)
class Condition:
    """A condition on rows: `parse_condition` makes it, `expression` hands it to an engine.

    Attributes
    ----------
    text
        As it was written.
    root
        The tree it stands for.
    """

    text: str
    root: Node = field(repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it needs, exactly as written, in order of appearance.

        Examples
        --------
        >>> parse_condition('age >= 18 and "Home town" is not null or age is null').columns
        ('age', 'Home town')
        """
        appearing = sorted(_column_names(self.root), key=lambda column: column.position)
        return tuple(dict.fromkeys(column.name for column in appearing))

    @property
    def number_columns(self) -> tuple[str, ...]:
        """The columns that are compared with a number: in a file of texts, these are to be read as numbers.

        Examples
        --------
        >>> parse_condition("age >= 18 and town = 'Rennes'").number_columns
        ('age',)
        """
        numbers = (
            relation.left.name
            for relation in _relations(self.root)
            if isinstance(relation.right, Literal)
            and isinstance(relation.right.value, int | float)
            and not isinstance(relation.right.value, bool)
        )
        return tuple(dict.fromkeys(numbers))

    def renamed(self, names: Mapping[str, str]) -> "Condition":
        """Return the condition on columns that go by other names.

        Examples
        --------
        >>> parse_condition("age >= 18").renamed({"age": "number"}).columns
        ('number',)
        """
        return replace(self, root=_renamed(self.root, names))

    def expression(self, schema: Mapping[str, DType]) -> nw.Expr:
        """Return the condition for an engine: true where it holds, false where it does not or is unknown, never null.

        Parameters
        ----------
        schema
            The columns of the table and their types, as from `collect_schema()` of a narwhals frame.

        Examples
        --------
        >>> import pyarrow
        >>> table = nw.from_native(pyarrow.table({"age": [17, 18, None]}))
        >>> condition = parse_condition("not age < 18")
        >>> table.filter(condition.expression(table.collect_schema())).rows()
        [(18,)]
        """
        for column in sorted(_column_names(self.root), key=lambda column: column.position):
            if column.name not in schema:
                names = listed([_quoted(name) for name in schema])
                _refuse(f"name columns of the table: {names}", column.written, column.position)
        return _holds(self.root, schema, truth=True)


def _relations(node: Node) -> Iterator[Relation]:
    if isinstance(node, Junction):
        for part in node.parts:
            yield from _relations(part)
    elif isinstance(node, Negation):
        yield from _relations(node.part)
    elif isinstance(node, Relation):
        yield node


def _renamed(node: Node, names: Mapping[str, str]) -> Node:
    def column(old: ColumnName) -> ColumnName:
        return replace(old, name=names.get(old.name, old.name), alias=old.alias or old.name)

    if isinstance(node, Junction):
        return replace(node, parts=tuple(_renamed(part, names) for part in node.parts))
    if isinstance(node, Negation):
        return Negation(_renamed(node.part, names))
    if isinstance(node, IsNull):
        return IsNull(column(node.column))
    right = column(node.right) if isinstance(node.right, ColumnName) else node.right
    return replace(node, left=column(node.left), right=right)


def _column_names(node: Node) -> Iterator[ColumnName]:
    if isinstance(node, Junction):
        for part in node.parts:
            yield from _column_names(part)
    elif isinstance(node, Negation):
        yield from _column_names(node.part)
    elif isinstance(node, IsNull):
        yield node.column
    else:
        yield node.left
        if isinstance(node.right, ColumnName):
            yield node.right


def _refuse(wanted: str, got: str, position: int) -> NoReturn:
    raise InvalidInput(f"must {wanted} (got {got} at position {position})", parameter="where")


def _quoted(name: str) -> str:
    plain = re.fullmatch(r"[^\W\d]\w*", name) and name.lower() not in _KEYWORDS
    return name if plain else '"' + name.replace('"', '""') + '"'


# --- From text to tree ------------------------------------------------------------------------------------------------


class _Token(NamedTuple):
    """One word of the text: its kind, what it stands for, and its position counted from 1."""

    kind: str  # keyword, name, number, text, sign, end
    value: Any
    position: int

    @property
    def shown(self) -> str:
        if self.kind == "end":
            return "the end"
        if self.kind in {"name", "keyword"}:
            return _quoted(self.value) if self.kind == "name" else str(self.value)
        return _shown(self.value) if self.kind in {"number", "text"} else repr(self.value)


def _shown(value: object) -> str:
    """Return a literal as one would write it."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


_TOKENS = re.compile(
    r"""(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
      | (?P<word>[^\W\d]\w*)
      | "(?P<name>(?:[^"]|"")+)"
      | '(?P<text>(?:[^']|'')*)'
      | (?P<sign>==|!=|<>|<=|>=|[=<>(),])""",
    re.VERBOSE,
)


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        found = _TOKENS.match(text, place)
        if found is None:
            _refuse("consist of columns, values, comparisons, and, or, not, brackets", _rest(text, place), place + 1)
        yield _token(str(found.lastgroup), found[str(found.lastgroup)], place + 1)
        place = found.end()
    yield _Token("end", None, len(text) + 1)


def _rest(text: str, place: int) -> str:
    if text[place] in "'\"":
        return f"a {text[place]} that is not closed"
    return repr(re.split(r"[\s()=<>!,'\"]", text[place:])[0] or text[place])


def _token(kind: str, found: str, position: int) -> _Token:
    if kind == "word":
        keyword = found.lower() in _KEYWORDS
        return _Token("keyword", found.lower(), position) if keyword else _Token("name", found, position)
    if kind == "name":
        return _Token(kind, found.replace('""', '"'), position)
    if kind == "text":
        return _Token(kind, found.replace("''", "'"), position)
    if kind == "number":
        return _Token(kind, _number(found, position), position)
    return _Token(kind, _SAME.get(found, found), position)


def _number(found: str, position: int) -> float | int:
    if len(found) > _LONGEST_NUMBER:
        _refuse(f"have numbers of at most {_LONGEST_NUMBER} characters", f"one of {len(found)}", position)
    number = float(found)
    if math.isinf(number):
        _refuse("have numbers below 1.8e308", found, position)
    return int(found) if re.fullmatch(r"[+-]?[0-9]+", found) else number + 0.0  # -0.0 is 0.0


def parse_condition(text: str) -> Condition:
    """Return the condition that a text stands for; its columns are looked up when it meets a table.

    Parameters
    ----------
    text
        Comparisons of columns with values or columns (``= != < <= > >=``), ``in (...)``, ``between``, ``is null``,
        joined by ``and``, ``or``, ``not`` and brackets. Names with spaces go into double quotes, texts into single
        ones. Keywords ignore case, column names do not.

    Examples
    --------
    >>> parse_condition("age >= 18 and department != 'er'").columns
    ('age', 'department')
    >>> parse_condition("age >= and")
    Traceback (most recent call last):
        ...
    hetdp.core.errors.InvalidInput: where must have a column or a value after '>=' (got and at position 8).
    """
    if not isinstance(text, str):
        raise InvalidInput("must be a text such as 'age >= 18'", parameter="where", got=type(text))
    return Condition(text, _Parser(list(_tokens(text))).condition())


class _Parser:
    """A parser by recursive descent: one method per rule of the grammar."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._next = 0

    def condition(self) -> Node:
        root = self._joined(0)
        if self._peek().kind != "end":
            self._expected("and, or, or the end")
        return root

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _accept(self, *values: str) -> bool:
        """Take the next token if it is one of these keywords or signs."""
        token = self._peek()
        if token.kind not in {"keyword", "sign"} or token.value not in values:
            return False
        self._next += 1
        return True

    def _expected(self, wanted: str) -> NoReturn:
        before = f" after {self._tokens[self._next - 1].shown}" if self._next else ""
        _refuse(f"have {wanted}{before}", self._peek().shown, self._peek().position)

    def _require(self, value: str, wanted: str) -> None:
        if not self._accept(value):
            self._expected(wanted)

    def _joined(self, depth: int) -> Node:
        return self._junction("or", depth, lambda level: self._junction("and", level, self._negation))

    def _junction(self, word: str, depth: int, part: Callable[[int], Node]) -> Node:
        parts = [part(depth)]
        while self._accept(word):
            parts.append(part(depth))
        return parts[0] if len(parts) == 1 else Junction(word, tuple(parts))

    def _negation(self, depth: int) -> Node:
        token = self._peek()
        if self._accept("not", "("):
            if depth == MAXIMUM_DEPTH:
                _refuse(f"have at most {MAXIMUM_DEPTH} brackets and nots inside each other", "one more", token.position)
            if token.value == "not":
                return Negation(self._negation(depth + 1))
            inside = self._joined(depth + 1)
            self._require(")", "and, or, or )")
            return inside
        return self._test()

    def _test(self) -> Node:
        left = self._operand()
        token = self._peek()
        if token.kind == "sign" and token.value in _OPPOSITE:
            self._next += 1
            return _comparison(left, token.value, self._operand())
        if self._accept("is"):
            negated = self._accept("not")
            self._require("null", "null" if negated else "null or not null")
            return _negated(IsNull(_only_column(left)), negated=negated)
        negated = self._accept("not")
        if self._accept("between"):
            low = self._operand()
            self._require("and", "and")
            ends = (_comparison(left, ">=", low), _comparison(left, "<=", self._operand()))
            return _negated(Junction("and", ends), negated=negated)
        if self._accept("in"):
            return _negated(self._members(_only_column(left)), negated=negated)
        return self._expected("in or between" if negated else "=, !=, <, <=, >, >=, in, between or is")

    def _members(self, column: ColumnName) -> Node:
        self._require("(", "(")
        values = [self._literal()]
        while self._accept(","):
            values.append(self._literal())
        self._require(")", "a comma or )")
        return Junction("or", tuple(Relation(column, "=", value) for value in values))

    def _operand(self) -> ColumnName | Literal:
        token = self._peek()
        if token.kind == "name":
            self._next += 1
            return ColumnName(token.value, token.position)
        return self._literal("a column or a value")

    def _literal(self, wanted: str = "a value") -> Literal:
        token = self._peek()
        if token.kind in {"number", "text"}:
            return Literal(self._take().value, token.position)
        if self._accept("true", "false"):
            return Literal(token.value == "true", token.position)
        if self._accept("null"):
            return Literal(None, token.position)
        return self._expected(wanted)


def _negated(node: Node, *, negated: bool) -> Node:
    return Negation(node) if negated else node


def _only_column(operand: ColumnName | Literal) -> ColumnName:
    if isinstance(operand, Literal):
        _refuse("have a column before in and is", _shown(operand.value), operand.position)
    return operand


def _comparison(left: ColumnName | Literal, operator: str, right: ColumnName | Literal) -> Relation:
    """Return the comparison with a column on its left."""
    if isinstance(left, ColumnName):
        return Relation(left, operator, right)
    if isinstance(right, Literal):
        _refuse("compare a column with something", f"two values, {_shown(left.value)} the first,", left.position)
    return Relation(right, _MIRRORED[operator], left)


# --- From tree to engine ----------------------------------------------------------------------------------------------
#
# Unknown needs no value of its own: "is true" and "is false" of a tree are each an expression that is never null, and
# each follows from the same of its parts. That `false and null` is false holds in every engine.


def _holds(node: Node, schema: Mapping[str, DType], *, truth: bool) -> nw.Expr:
    """Return where a tree is true, or where it is false, in rows where that is known."""
    if isinstance(node, Negation):
        return _holds(node.part, schema, truth=not truth)
    if isinstance(node, Junction):
        parts = [_holds(part, schema, truth=truth) for part in node.parts]
        return _balanced(parts, both=(node.word == "and") == truth)
    if isinstance(node, IsNull):
        missing = _missing(node.column.name, schema)
        return missing if truth else ~missing
    operator = node.operator if truth else _OPPOSITE[node.operator]
    if isinstance(node.right, Literal):
        return _with_literal(node.left, operator, node.right, schema)
    return _with_column(node.left, operator, node.right, schema)


def _balanced(parts: Sequence[nw.Expr], *, both: bool) -> nw.Expr:
    """Join by and, or by or, in a tree whose depth is the logarithm of its width."""
    while len(parts) > 1:
        pairs = [parts[place : place + 2] for place in range(0, len(parts), 2)]
        parts = [pair[0] if len(pair) == 1 else pair[0] & pair[1] if both else pair[0] | pair[1] for pair in pairs]
    return parts[0]


def _missing(name: str, schema: Mapping[str, DType]) -> nw.Expr:
    """Return where a column is null or nan, which comes first: nan > 1e308 is true in some engines."""
    missing = nw.col(name).is_null()
    dtype = schema[name]
    return missing | _double(name, dtype).is_nan() if dtype.is_float() or dtype.is_decimal() else missing


def _double(name: str, dtype: DType) -> nw.Expr:
    """Return a column of numbers as doubles."""
    column = nw.col(name)
    if dtype.is_integer():  # PyArrow's cast fails beyond 2**53 and quotes the cell; a division does not
        column /= 1
    elif dtype.is_decimal():  # PyArrow's cast makes 0.30000000000000004 of 0.3; from digits every engine gets it right
        column = column.cast(nw.String)
    return column.cast(nw.Float64)


def _kind(dtype: DType) -> str:
    """Return what a type is compared as; nothing for a type that is not compared at all."""
    if dtype.is_numeric():
        large = isinstance(dtype, nw.UInt64 | nw.Int128 | nw.UInt128)
        return "whole" if dtype.is_integer() and not large else "number"
    if isinstance(dtype, nw.String | nw.Categorical | nw.Enum):
        return "text"
    if isinstance(dtype, nw.Datetime):
        return "time" if dtype.time_zone is None else ""
    return {nw.Boolean: "boolean", nw.Date: "date"}.get(type(dtype), "")


_VALUE_FOR = {
    "whole": "a number",
    "number": "a number",
    "text": "a text in single quotes",
    "boolean": "true or false",
    "date": "a date such as '2026-01-31'",
    "time": "a date such as '2026-01-31'",
}


def _checked_kind(column: ColumnName, operator: str, schema: Mapping[str, DType]) -> str:
    dtype = schema[column.name]
    kind = _kind(dtype)
    if not kind:
        wanted = "compare numbers, texts, booleans, dates, or times without a time zone"
        _refuse(wanted, f"{column.written} of type {dtype}", column.position)
    if operator not in {"=", "!="} and kind in {"text", "boolean"}:
        why = "texts are sorted differently by different engines" if kind == "text" else "true is not above false"
        _refuse(f"compare {kind} columns by =, != or in only ({why})", column.written, column.position)
    return kind


def _value(name: str, kind: str, dtype: DType) -> nw.Expr:
    """Return a column as what its kind is compared as; none of these casts can fail."""
    if kind == "number":
        return _double(name, dtype)
    if kind == "whole" and dtype != nw.Int64:
        return nw.col(name).cast(nw.Int64)
    if kind == "text" and dtype != nw.String:
        return nw.col(name).cast(nw.String)
    return nw.col(name)


def _with_column(left: ColumnName, operator: str, right: ColumnName, schema: Mapping[str, DType]) -> nw.Expr:
    kinds = [_checked_kind(column, operator, schema) for column in (left, right)]
    types = [schema[column.name] for column in (left, right)]
    if set(kinds) == {"whole", "number"}:
        kinds = ["number", "number"]
    if kinds[0] != kinds[1] or (kinds[0] == "time" and types[0] != types[1]):
        shown = f"{right.written} ({types[1]})"
        _refuse(f"compare {left.written} ({types[0]}) with a column of the same type", shown, right.position)
    known = ~_missing(left.name, schema) & ~_missing(right.name, schema)
    values = [_value(column.name, kinds[0], dtype) for column, dtype in zip((left, right), types, strict=True)]
    return known & _APPLY[operator](*values)


def _with_literal(column: ColumnName, operator: str, literal: Literal, schema: Mapping[str, DType]) -> nw.Expr:
    kind, dtype = _checked_kind(column, operator, schema), schema[column.name]
    missing = _missing(column.name, schema)
    constant = _constant(kind, dtype, literal)
    if constant is None:
        wanted = f"compare {column.written} ({dtype}) with {_VALUE_FOR[kind]}"
        _refuse(wanted, _shown(literal.value), literal.position)
    if literal.value is None:
        return _never(missing)
    if kind == "whole":
        decided = _against_whole(operator, constant)
        if isinstance(decided, bool):
            return ~missing if decided else _never(missing)
        operator, constant = decided
    return ~missing & _APPLY[operator](_value(column.name, kind, dtype), constant)


def _never(missing: nw.Expr) -> nw.Expr:
    """Return false in every row; a bare constant would be a scalar in some engines."""
    return missing & ~missing


def _constant(kind: str, dtype: DType, literal: Literal) -> Any:  # noqa: ANN401  (as many types as columns have)
    """Return a literal as a column of this kind is compared with it, or None if it cannot be."""
    value = literal.value
    if value is None:
        return ()
    if isinstance(value, bool):
        return value if kind == "boolean" else None
    if isinstance(value, str):
        if kind == "text":
            return value
        return _day(value, kind, dtype, literal.position) if kind in {"date", "time"} else None
    if kind == "whole":
        return value
    return nw.lit(float(value), nw.Float64) if kind == "number" else None


def _day(text: str, kind: str, dtype: DType, position: int) -> date | datetime | None:
    try:
        day = date.fromisoformat(text) if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else None
    except ValueError:
        return None
    if day is None or kind == "date":
        return day
    first, last = _NANOSECOND_YEARS
    if isinstance(dtype, nw.Datetime) and dtype.time_unit == "ns" and not first <= day.year <= last:
        _refuse(f"have dates from {first} to {last} for a column in nanoseconds", _shown(text), position)
    return datetime(day.year, day.month, day.day, tzinfo=UTC).replace(tzinfo=None)


def _against_whole(operator: str, number: float | int) -> tuple[str, int] | bool:  # noqa: PYI041  (an int is exact)
    """Return the same comparison with an integer of 64 bits, or its outcome if it is the same for all of those."""
    smallest, largest = _INT64
    bound = math.ceil(number) if operator in {"<", ">="} else math.floor(number)
    if operator in {"=", "!="}:
        return (operator, bound) if bound == number and smallest <= bound <= largest else operator == "!="
    if bound > largest:
        return operator in {"<", "<="}
    if bound < smallest:
        return operator in {">", ">="}
    return operator, bound
