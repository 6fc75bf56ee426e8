/**
 * Random expressions in CEL by a grammar of types: each form says what goes into its gaps, so that most of them compile.
 * Left out is what docs/reference/embedded-server.md says differs: mistakes in the grammar of CEL itself.
 */

/** What an expression comes to. `strings` and the like are lists, `labels` and `limits` maps of texts and of whole numbers. */
export type Kind =
  | 'bool'
  | 'int'
  | 'double'
  | 'string'
  | 'bytes'
  | 'timestamp'
  | 'duration'
  | 'strings'
  | 'ints'
  | 'labels'
  | 'limits'
  | 'ports'
  | 'port'
  | 'nested'
  | 'amount'
  | 'maybe'
  | 'quantity'

/** What there is to be named, by what it is. */
export type Scope = Partial<Readonly<Record<Kind, readonly string[]>>>

/** Decisions from a list of numbers: the shorter the list and the smaller the numbers, the simpler what comes of it. */
export class Choices {
  /** Whether what is refused is welcome. */
  readonly isWild: boolean
  readonly #numbers: readonly number[]
  #next = 0

  constructor(numbers: readonly number[], isWild: boolean) {
    this.#numbers = numbers
    this.isWild = isWild
  }

  below(count: number): number {
    return (this.#numbers[this.#next++] ?? 0) % count
  }

  of<T>(all: readonly T[]): T {
    return all[this.below(all.length)]!
  }
}

/** Of each kind the simplest first. */
const literals: Readonly<Record<Kind, readonly string[]>> = {
  bool: ['true', 'false'],
  int: ['1', '0', '2', '-1', '7', '9223372036854775807', '-9223372036854775808', '0x1f'],
  double: ['1.5', '0.0', '-2.0', '1e300', '.5', '0.1', '1e-7', '100000000000000000000000.0'],
  string: [
    "'a'",
    "''",
    "'b'",
    "'A b'",
    "'é😀'",
    "'10'",
    "'a,b,c'",
    "r'\\d'",
    "'\\n\\u00e9'",
    '"it\'s"',
    "'true'",
    "'1.5'",
  ],
  bytes: ["b'a'", "b''", "b'\\xff\\x00'", "b'é'"],
  timestamp: [
    "timestamp('2024-02-29T12:30:45.123456789Z')",
    "timestamp('2000-01-01T00:00:00+02:00')",
    "timestamp('0001-01-01T00:00:00Z')",
    "timestamp('9999-12-31T23:59:59Z')",
  ],
  duration: [
    "duration('1h')",
    "duration('-1.5s')",
    "duration('0')",
    "duration('1h2m3s4ms5us6ns')",
    "duration('100000h')",
  ],
  strings: ["['a', 'b']", "['b', 'a', 'b']", "['é', '']"],
  ints: ['[1, 2]', '[3, 1, 2, 1]', '[0]'],
  labels: ["{'a': 'x'}", "{'a': 'y', 'b': ''}"],
  limits: ["{'a': 1}", "{'a': 2, 'b': 0}"],
  ports: [],
  port: [],
  nested: [],
  amount: ['dyn(1)', "dyn('a')", 'dyn(1.0)', 'dyn(1u)'],
  maybe: ["optional.of('a')", 'optional.none()', "optional.ofNonZeroValue('')"],
  quantity: ["quantity('1Gi')", "quantity('-1.5')", "quantity('100m')"],
}

/**
 * `{int}` is a gap for a whole number. `#` is the variable of a macro, fresh each time, and `{bool #string}` a gap in which it
 * can be named as a text.
 */
const forms: Readonly<Record<Kind, readonly string[]>> = {
  bool: [
    '{int} < {int}',
    '{int} == {int}',
    '{string} == {string}',
    '{string} <= {string}',
    '{double} > {double}',
    '{double} != {double}',
    '{int} >= {double}',
    '{bool} && {bool}',
    '{bool} || {bool}',
    '!({bool})',
    '({bool}) ? ({bool}) : ({bool})',
    '{string} in {strings}',
    '{int} in {ints}',
    '{string} in {labels}',
    '{strings} == {strings}',
    '{ints} != {ints}',
    '{labels} == {labels}',
    '{ports} == {ports}',
    '{nested} == {nested}',
    '{bytes} == {bytes}',
    '{bytes} < {bytes}',
    '{timestamp} < {timestamp}',
    '{timestamp} == {timestamp}',
    '{duration} >= {duration}',
    '{amount} == {amount}',
    '{amount} == {int}',
    'type({amount}) == string',
    'type({amount}) == type({amount})',
    'has({nested}.inner)',
    'has({nested}.deep)',
    'has({port}.port)',
    'has({labels}.a)',
    '{string}.startsWith({string})',
    '{string}.endsWith({string})',
    '{string}.contains({string})',
    "{string}.matches('^a+b?')",
    "{string}.matches('(?i)[^a-c]{2,3}$')",
    "{string}.matches('\\\\\\\\d+|x*')",
    '{string}.matches({string})',
    '{strings}.all(#, {bool #string})',
    '{ints}.exists(#, {bool #int})',
    '{ints}.all(#, {bool #int})',
    '{strings}.exists_one(#, {bool #string})',
    '{labels}.all(#, {bool #string})',
    '{limits}.exists(#, {bool #string})',
    '{ports}.exists(#, {bool #port})',
    '{ports}.all(#, {bool #port})',
    '{ports}.exists_one(#, {bool #port})',
    '{ints}.all(#1, #2, #1 < #2)',
    '{labels}.exists(#1, #2, #1 == #2)',
    '{ints}.isSorted()',
    '{strings}.isSorted()',
    '{maybe}.hasValue()',
    '{maybe} == {maybe}',
    'isQuantity({string})',
    '{quantity}.isGreaterThan({quantity})',
    '{quantity} == {quantity}',
    'isURL({string})',
    'isIP({string})',
    'isCIDR({string})',
    'isSemver({string})',
    '!format.dns1123Label().validate({string}).hasValue()',
    'bool({string})',
    'sets.contains({strings}, {strings})',
    'sets.intersects({ints}, {ints})',
    'sets.equivalent({strings}, {strings})',
  ],
  int: [
    '{int} + {int}',
    '{int} - {int}',
    '{int} * {int}',
    '{int} / {int}',
    '{int} % {int}',
    '-({int})',
    'size({string})',
    '{strings}.size()',
    'size({labels})',
    'size({bytes})',
    'size({ports})',
    '{string}.indexOf({string})',
    '{string}.indexOf({string}, {int})',
    '{string}.lastIndexOf({string})',
    '{ints}.sum()',
    '{ints}.min()',
    '{ints}.max()',
    '{ints}.indexOf({int})',
    '{ints}[{int}]',
    '{limits}[{string}]',
    '{limits}.a',
    '{port}.port',
    '{nested}.deep',
    'int({double})',
    'int({string})',
    'int({timestamp})',
    'int({amount})',
    '{timestamp}.getFullYear()',
    '{timestamp}.getDayOfYear()',
    "{timestamp}.getHours('Europe/Berlin')",
    "{timestamp}.getDayOfWeek('-03:30')",
    '{timestamp}.getMilliseconds()',
    '{duration}.getSeconds()',
    '{duration}.getMilliseconds()',
    '{bool} ? {int} : {int}',
    '{quantity}.asInteger()',
    '{quantity}.sign()',
    '{limits}[?{string}].orValue({int})',
    '{nested}.?deep.orValue({int})',
  ],
  double: [
    '{double} + {double}',
    '{double} * {double}',
    '{double} / {double}',
    '-({double})',
    'double({int})',
    'double({string})',
    '{quantity}.asApproximateFloat()',
  ],
  string: [
    '{string} + {string}',
    'string({int})',
    'string({double})',
    'string({bool})',
    'string({timestamp})',
    'string({duration})',
    'string({bytes})',
    'string({amount})',
    '{string}.substring({int})',
    '{string}.substring({int}, {int})',
    '{string}.charAt({int})',
    '{string}.lowerAscii()',
    '{string}.upperAscii()',
    '{string}.trim()',
    '{string}.replace({string}, {string})',
    '{string}.replace({string}, {string}, {int})',
    '{strings}.join()',
    '{strings}.join({string})',
    '{strings}[{int}]',
    '{strings}.min()',
    '{labels}[{string}]',
    '{labels}.a',
    '{nested}.inner',
    '{port}.name',
    "{string}.find('[a-z]+')",
    '{maybe}.value()',
    '{maybe}.orValue({string})',
    '{bool} ? {string} : {string}',
    "'%s-%d'.format([{string}, {int}])",
    "'%s %s %s'.format([{ints}, {labels}, {double}])",
    "'%x %o %b'.format([{int}, {int}, {int}])",
    "'%.2f %e'.format([{double}, {double}])",
    "'%s %s %s'.format([{timestamp}, {duration}, {bool}])",
  ],
  bytes: ['bytes({string})', '{bytes} + {bytes}'],
  timestamp: ['{timestamp} + {duration}', '{timestamp} - {duration}', 'timestamp({string})', 'timestamp({int})'],
  duration: ['{duration} + {duration}', '{timestamp} - {timestamp}', '{duration} - {duration}', 'duration({string})'],
  strings: [
    '{strings} + {strings}',
    '{strings}.filter(#, {bool #string})',
    '{strings}.map(#, {string #string})',
    '{ints}.map(#, {string #int})',
    '{strings}.map(#, {bool #string}, {string #string})',
    '{ports}.map(#, {string #port})',
    '{labels}.map(#, {string #string})',
    '{string}.split({string})',
    "{string}.split(',', {int})",
    "{string}.findAll('[a-b]')",
    "{string}.findAll('.', {int})",
    '[{string}, {string}]',
  ],
  ints: [
    '{ints} + {ints}',
    '{ints}.filter(#, {bool #int})',
    '{ints}.map(#, {int #int})',
    '{strings}.map(#, {int #string})',
    '{ports}.map(#, {int #port})',
    '[{int}, {int}]',
  ],
  labels: ['{{string}: {string}}', '{?{string}: {maybe}}', '{labels}.transformMap(#1, #2, #2 + #1)'],
  limits: ['{{string}: {int}}'],
  ports: ['{ports}.filter(#, {bool #port})'],
  port: ['{ports}[{int}]', '{ports}.filter(#, {bool #port})[0]'],
  nested: [],
  amount: ['dyn({int})', 'dyn({string})', 'dyn({double})', '[dyn({int}), dyn({string})][{int}]'],
  maybe: [
    'optional.of({string})',
    '{labels}[?{string}]',
    '{strings}[?{int}]',
    '{nested}.?inner',
    '{maybe}.or({maybe})',
  ],
  quantity: ['quantity({string})', '{quantity}.add({quantity})', '{quantity}.sub({int})'],
}

const kinds = Object.keys(literals) as Kind[]

/** One gap in so many may be filled with whatever comes, for the sake of what the checker says to it. */
const oddity = 50

export function expression(kind: Kind, scope: Scope, choices: Choices, depth: number): string {
  const odd = choices.isWild && choices.below(oddity) === oddity - 1 ? choices.of(kinds) : kind
  const wanted = isThere(odd, scope) ? odd : kind
  const named = scope[wanted] ?? []
  // Twice as often, since what is made of literals alone is computed, and may fail, before there is an object.
  const leaves = [...named, ...named, ...literals[wanted]]
  const inner = depth > 0 ? forms[wanted].filter((form) => gapsOf(form).every((gap) => isThere(gap, scope))) : []
  if (inner.length === 0 || choices.below(3) === 0) return choices.of(leaves)
  return filled(choices.of(inner), scope, choices, depth)
}

/** Of some kinds there are no literals: they have to come from the object. */
function isThere(kind: Kind, scope: Scope): boolean {
  return literals[kind].length > 0 || scope[kind] !== undefined
}

const gap = /\{([a-z]+)(?: #([a-z]+))?\}/g

function gapsOf(form: string): Kind[] {
  // The variable of a macro is there whatever the object has.
  const own = form.includes('#port}') ? ['port'] : []
  return [...form.matchAll(gap)].map(([, kind]) => kind as Kind).filter((kind) => !own.includes(kind))
}

function filled(form: string, scope: Scope, choices: Choices, depth: number): string {
  const variable = `v${depth}`
  return form
    .replaceAll(gap, (_, kind: Kind, named?: Kind) => {
      const inside = named === undefined ? scope : { ...scope, [named]: [variable, ...(scope[named] ?? [])] }
      const text = expression(kind, inside, choices, depth - 1)
      return isAtom.test(text) ? text : `(${text})`
    })
    .replaceAll('#', variable)
}

/** What needs no brackets wherever it stands. */
const isAtom = /^[a-zA-Z_][\w.]*$|^'[^']*'$|^[\w.]+\([^()]*\)$/
