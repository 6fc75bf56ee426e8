/** Log lines as users see them. The expected lines of the formats full, plain and json were written by Kopf 1.45.2 itself. */
import { describe, expect, test } from 'vitest'
import { KopfError, TemporaryError } from '../../errors.ts'
import { ownCode } from '../process/package-files.ts'
import {
  configureLogging,
  createLogger,
  createLogSink,
  defaultLogSink,
  type FrameworkLevel,
  fromPino,
  type LogFields,
  type LogSinkOptions,
  limitFrameworkLines,
  toFrameworkLogger,
  toHandlerLogger,
} from './log.ts'

const object = { apiVersion: 'kopf.dev/v1', kind: 'KopfExample', name: 'n1', uid: 'u1', namespace: 'ns1' }
const clusterObject = { ...object, namespace: null }
const timeMs = new Date(2026, 10, 16, 3, 2, 1, 23).getTime()
const clock = { now: () => timeMs, sleep: () => Promise.resolve() }

function capture(options: LogSinkOptions = {}) {
  const lines: string[] = []
  const sink = createLogSink({ clock, write: (line) => lines.push(line), ...options })
  return { lines, sink }
}

/** Returns the log line of the given message. */
function lineOf(options: LogSinkOptions, message: string, fields?: LogFields, about: object | undefined = object) {
  const { lines, sink } = capture(options)
  createLogger(sink, 'kopf.objects', about ? { object: about } : {}).info(message, fields)
  return lines.join('')
}

describe('log formats', () => {
  test.each<[string, LogSinkOptions, object | undefined, string]>([
    ['full', {}, object, '[2026-11-16 03:02:01,023] kopf.objects         [INFO    ] [ns1/n1] Hello\n'],
    ['full, no namespace', {}, clusterObject, '[2026-11-16 03:02:01,023] kopf.objects         [INFO    ] [n1] Hello\n'],
    ['full, no prefix', { prefix: false }, object, '[2026-11-16 03:02:01,023] kopf.objects         [INFO    ] Hello\n'],
    ['short', { format: 'short' }, object, '03:02:01 INFO  ns1/n1  Hello\n'],
    ['short, no namespace', { format: 'short' }, clusterObject, '03:02:01 INFO  n1  Hello\n'],
    ['short, no prefix', { format: 'short', prefix: false }, object, '03:02:01 INFO  Hello\n'],
    ['short, no object', { format: 'short' }, undefined, '03:02:01 INFO  Hello\n'],
    ['plain', { format: 'plain' }, object, '[ns1/n1] Hello\n'],
    ['plain, no prefix', { format: 'plain', prefix: false }, object, 'Hello\n'],
    ['plain, no object', { format: 'plain' }, undefined, 'Hello\n'],
  ])('a log line has the format: %s', (_, options, about, expected) => {
    const { lines, sink } = capture(options)
    createLogger(sink, 'kopf.objects', about ? { object: about } : {}).info('Hello')
    expect(lines).toEqual([expected])
  })

  test('the short format aligns the levels, and shows only stack frames of the user', () => {
    const { lines, sink } = capture({ format: 'short', debug: true })
    const logger = createLogger(sink, 'kopf.operator')
    logger.debug('m')
    logger.warn('m')
    const error = new Error('boom')
    error.stack = `Error: boom\n    at create (/app/operator.ts:7:9)\n    at call (file://${ownCode()}handlers/invoke.ts:1:2)\n    at node:internal/x:1:2`
    logger.error('m', { error })
    sink.log({ level: 'fatal', name: 'x', source: 'framework', message: 'm' })
    expect(lines).toEqual([
      '03:02:01 DEBUG m\n',
      '03:02:01 WARN  m\n',
      '03:02:01 ERROR m\nError: boom\n    at create (/app/operator.ts:7:9)\n',
      '03:02:01 FATAL m\n',
    ])
  })

  test('a log line has level names and widths as in Python, and cuts long logger names', () => {
    const { lines, sink } = capture({ debug: true, prefix: false })
    const logger = createLogger(sink, 'kopf.some.long.logger.name')
    logger.debug('m')
    logger.warn('m')
    logger.error('m')
    sink.log({ level: 'fatal', name: 'x', source: 'framework', message: 'm' })
    expect(lines.map((line) => line.slice(26).trimEnd())).toEqual([
      'kopf.some.long.logge [DEBUG   ] m',
      'kopf.some.long.logge [WARNING ] m',
      'kopf.some.long.logge [ERROR   ] m',
      'x                    [CRITICAL] m',
    ])
  })

  const timestamp = `${new Date(timeMs).toISOString().slice(0, -1)}000+00:00`

  test('a JSON log line has the keys of Kopf in their order, and the fields', () => {
    const line = lineOf({ format: 'json' }, 'w', { a: 1, b: { c: [1, 2] }, skipped: undefined })
    expect(line).toBe(
      `{"message": "w", "a": 1, "b": {"c":[1,2]}, "timestamp": "${timestamp}", "object": ${JSON.stringify(object)}, "severity": "info"}\n`,
    )
  })

  test('a JSON log line without an object has no reference', () => {
    const { lines, sink } = capture({ format: 'json' })
    createLogger(sink, 'kopf.x').error('m')
    expect(JSON.parse(lines[0]!)).toEqual({ message: 'm', timestamp, severity: 'error' })
  })

  test('a JSON log line has an absent namespace as null, under the configured key', () => {
    const parsed = JSON.parse(lineOf({ format: 'json', refkey: 'k8s' }, 'm', {}, clusterObject))
    expect(parsed).toEqual({ message: 'm', timestamp, k8s: clusterObject, severity: 'info' })
  })

  test('a JSON log line has the prefix only if it is configured', () => {
    expect(JSON.parse(lineOf({ format: 'json' }, 'm')).message).toBe('m')
    expect(JSON.parse(lineOf({ format: 'json', prefix: true }, 'm')).message).toBe('[ns1/n1] m')
  })

  test('fields of a JSON log line cannot replace its own keys, except the severity as in Kopf', () => {
    const fields = { message: 'forged', timestamp: 'forged', object: 'forged', severity: 'notice' }
    const parsed = JSON.parse(lineOf({ format: 'json' }, 'true', fields))
    expect(parsed).toEqual({ message: 'true', timestamp, object, severity: 'notice' })
  })

  test('fields of a text log line follow the message', () => {
    const line = lineOf({ format: 'plain' }, 'add spec.x', {
      old: undefined,
      now: { a: [1, 'two'] },
      by: 'me',
      n: null,
    })
    expect(line).toBe('[ns1/n1] add spec.x now={"a":[1,"two"]} by="me" n=null\n')
  })
})

test.each<[string, LogSinkOptions, string[]]>([
  ['info by default', {}, ['i', 'w', 'e']],
  ['debug without internals if verbose', { verbose: true }, ['d', 'i', 'w', 'e']],
  ['everything if debug', { debug: true }, ['d', 'inner', 'i', 'w', 'e']],
  ['warnings and errors if quiet', { quiet: true }, ['w', 'e']],
  ['everything if both debug and quiet', { debug: true, quiet: true }, ['d', 'inner', 'i', 'w', 'e']],
])('the log level is selected: %s', (_, options, expected) => {
  const { lines, sink } = capture({ format: 'plain', ...options })
  const logger = createLogger(sink, 'kopf.objects')
  logger.debug('d')
  createLogger(sink, 'kopf.internals.queue').debug('inner')
  logger.info('i')
  logger.warn('w')
  logger.error('e')
  expect(lines.map((line) => line.trim())).toEqual(expected)
})

describe('escaped log lines', () => {
  test.each([
    ['a line break', 'a\nb\r\nc', 'a\\nb\\r\\nc'],
    ['colours', '\u001b[31mred\u009b0m', '\\u001b[31mred\\u009b0m'],
    ['backspace, bell and delete', '\b\u0007\u007f', '\\u0008\\u0007\\u007f'],
    ['other line separators', '\u2028\u2029\u0085', '\\u2028\\u2029\\u0085'],
    ['direction marks', '\u202eevil\u2066', '\\u202eevil\\u2066'],
    ['half a surrogate pair', 'x\ud83dy\ude00', 'x\\ud83dy\\ude00'],
    ['nothing in harmless text', 'tab\there, é世界😀 "quoted" \\', 'tab\there, é世界😀 "quoted" \\'],
  ])('a log line escapes %s', (_, message, expected) => {
    const about = { name: message, namespace: null }
    expect(lineOf({ format: 'plain' }, message, undefined, about)).toBe(`[${expected}] ${expected}\n`)
    const json = lineOf({ format: 'json' }, message)
    expect(json.split('\n')).toHaveLength(2)
    expect(JSON.parse(json).message).toBe(message)
    expect(json).not.toMatch(/[\u007f-\u009f\u2028-\u202e]/)
  })

  test('a log line escapes keys and values of fields', () => {
    expect(lineOf({ format: 'plain', prefix: false }, 'm', { 'a\nb': 'c\nd\u001b\u009b' })).toBe(
      'm a\\nb="c\\nd\\u001b\\u009b"\n',
    )
  })

  test('a log line escapes the message of an error, even if it looks like a stack', () => {
    const error = new Error('boom\n[2026-11-16 00:00:00,000] forged\n    at forged (file.ts:1:1)')
    const [first, second, ...rest] = lineOf({ format: 'plain', prefix: false }, 'm', { error }).trimEnd().split('\n')
    expect(first).toBe('m')
    expect(second).toBe('Error: boom\\n[2026-11-16 00:00:00,000] forged\\n    at forged (file.ts:1:1)')
    expect(rest.length).toBeGreaterThan(0)
    for (const line of rest) expect(line).toMatch(/^ {4}at (?!forged)/)
  })
})

describe('errors in log lines', () => {
  test('a log line has the stack of an unexpected error and its causes on the lines below', () => {
    const error = new TypeError('outer', { cause: new RangeError('inner') })
    const text = lineOf({ format: 'plain' }, 'failed', { error, x: 1 })
    expect(text).toMatch(/^\[ns1\/n1\] failed x=1\nTypeError: outer\n {4}at .*log\.test\.ts/)
    expect(text).toMatch(/\nCaused by: RangeError: inner\n {4}at /)
  })

  test('a JSON log line has the stack of an error in exc_info', () => {
    const parsed = JSON.parse(lineOf({ format: 'json' }, 'failed', { error: new Error('boom') }))
    expect(parsed.exc_info).toMatch(/^Error: boom\n {4}at /)
    expect(parsed).not.toHaveProperty('error')
  })

  test.each([
    ['an error of this package', new TemporaryError('later'), '"later"'],
    ['a base error of this package', new KopfError('KOPF_X', 'no'), '"no"'],
    ['a thrown string', 'thrown', '"thrown"'],
    ['a thrown null', null, 'null'],
  ])('a log line shows only the message of %s', (_, error, expected) => {
    expect(lineOf({ format: 'plain', prefix: false }, 'm', { error })).toBe(`m error=${expected}\n`)
    expect(JSON.parse(lineOf({ format: 'json' }, 'm', { error })).error).toBe(JSON.parse(expected))
  })

  test('a log line that contains the message of an expected error does not repeat it, except in JSON', () => {
    const error = new KopfError('KOPF_X', 'no "luck"')
    expect(lineOf({ format: 'plain', prefix: false }, 'failed: no "luck"', { error, x: 1 })).toBe(
      'failed: no "luck" x=1\n',
    )
    expect(JSON.parse(lineOf({ format: 'json' }, 'failed: no "luck"', { error })).error).toBe('no "luck"')
  })

  test('a log line of errors that cause each other is finite', () => {
    const one = new Error('one')
    one.cause = new Error('two', { cause: one })
    expect(lineOf({}, 'm', { error: one }).match(/Caused by/g)).toHaveLength(1)
  })

  test('a log line of an aggregate error names each error', () => {
    const text = lineOf({}, 'm', { error: new AggregateError([new Error('first'), new Error('second')], 'all') })
    expect(text).toContain('AggregateError: all')
    expect(text).toContain('Caused by: Error: first')
    expect(text).toContain('Caused by: Error: second')
  })
})

describe('arbitrary values in log lines', () => {
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  let deep: unknown = 'bottom'
  for (let level = 0; level < 20_000; level += 1) deep = { deep }
  const hostile = {
    get trap() {
      throw new Error('trap')
    },
  }
  test.each<[string, unknown, string]>([
    ['a cycle', circular, '{"self":"[circular]"}'],
    ['a bigint', 9007199254740993n, '9007199254740993'],
    ['a getter that throws', hostile, '"[unreadable]"'],
    ['a function', () => {}, '"[function]"'],
    ['a symbol', Symbol('x'), '"[symbol]"'],
    ['NaN', Number.NaN, '"NaN"'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['an invalid date', new Date(Number.NaN), 'null'],
    ['a map', new Map([['a', 1]]), '{"a":1}'],
    ['a set', new Set([1]), '[1]'],
    ['a nested error', [new Error('x')], '["Error: x"]'],
    ['prototype keys', JSON.parse('{"__proto__":{"constructor":1}}'), '{"__proto__":{"constructor":1}}'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
  ])('a log line can contain %s', (_, value, expected) => {
    expect(lineOf({ format: 'plain', prefix: false }, 'm', { value })).toBe(`m value=${expected}\n`)
    expect(JSON.stringify(JSON.parse(lineOf({ format: 'json' }, 'm', { value })).value)).toBe(
      JSON.stringify(JSON.parse(expected)),
    )
  })

  test.each([
    ['nested too deeply', deep],
    ['too wide', Array.from({ length: 100_000 }, () => 'x')],
    ['too long', 'x'.repeat(10_000_000)],
    ['too long in total', Array.from({ length: 90 }, () => 'x'.repeat(10_000))],
  ])('a value in a log line that is %s is cut', (_, value) => {
    expect(lineOf({}, 'm', { value }).length).toBeLessThan(40_000)
    expect(() => JSON.parse(lineOf({ format: 'json' }, 'm', { value }))).not.toThrow()
  })

  test('a long log message is cut between characters with a note', () => {
    const line = lineOf({ format: 'plain', prefix: false }, `x${'😀'.repeat(40_000)}`)
    expect(line).toBe(`x${'😀'.repeat(32_767)}… (14466 more characters)\n`)
  })

  test('a log message that is not a string and an error with an invalid name do not throw', () => {
    const { lines, sink } = capture({ format: 'plain' })
    const logger = createLogger(sink, 'x')
    logger.info(Object.create(null) as string)
    logger.info(undefined as unknown as string)
    logger.info('m', { error: Object.assign(new Error('boom'), { name: Symbol('s'), stack: 5 }) })
    logger.info('m', null as unknown as LogFields)
    expect(lines).toEqual(['[unreadable]\n', 'undefined\n', 'm\nSymbol(s): boom\n', 'm\n'])
  })

  test('a failing log destination does not throw', () => {
    const sink = createLogSink({
      write: () => {
        throw new Error('disk full')
      },
    })
    expect(() => createLogger(sink, 'x').error('m')).not.toThrow()
  })
})

describe('framework log lines', () => {
  const messagesOf = (options: LogSinkOptions, level?: FrameworkLevel) => {
    const { lines, sink } = capture({ format: 'plain', ...options })
    const logger = createLogger(
      limitFrameworkLines(sink, () => level),
      'kopf.objects',
    )
    for (const each of ['debug', 'info', 'warn', 'error'] as const) {
      logger[each](`own ${each}`)
      toHandlerLogger(logger)[each](each)
    }
    return lines.map((line) => line.trimEnd())
  }

  test.each<[string, LogSinkOptions, FrameworkLevel | undefined, string[]]>([
    [
      'have the level of all lines by default',
      {},
      undefined,
      ['own info', 'info', 'own warn', 'warn', 'own error', 'error'],
    ],
    [
      'are left out below a level of their own',
      { frameworkLevel: 'error' },
      undefined,
      ['info', 'warn', 'own error', 'error'],
    ],
    [
      'have the level of the operator before that of the sink',
      { frameworkLevel: 'error' },
      'warn',
      ['info', 'own warn', 'warn', 'own error', 'error'],
    ],
    ['are never more than the lines of handlers', { quiet: true }, 'debug', ['own warn', 'warn', 'own error', 'error']],
  ])('framework log lines %s', (_, options, level, expected) => {
    expect(messagesOf(options, level)).toEqual(expected)
  })

  test('framework log lines look the same as log lines of handlers in all formats', () => {
    for (const format of ['full', 'plain', 'json'] as const) {
      const { lines, sink } = capture({ format })
      const logger = createLogger(sink, 'kopf.objects', { object })
      logger.info('Hello')
      toHandlerLogger(logger).info('Hello')
      toFrameworkLogger(toHandlerLogger(logger)).info('Hello')
      expect(new Set(lines).size).toBe(1)
      expect(lines).toHaveLength(3)
    }
  })

  test('an unknown framework log level is refused', () => {
    expect(() => createLogSink({ frameworkLevel: 'warning' as never })).toThrow(
      'Cannot use "warning" as "frameworkLevel": expected one of debug, info, warn, error',
    )
  })

  test('a logger of a user stays unchanged', () => {
    const own = { debug() {}, info() {}, warn() {}, error() {} }
    expect(toHandlerLogger(own)).toBe(own)
    expect(toFrameworkLogger(own)).toBe(own)
  })
})

describe('loggers of users', () => {
  function pinoLike(level?: string) {
    const calls: unknown[] = []
    const at = (name: string) => (fields: object, message: string) => calls.push([name, fields, message])
    const own = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), fatal: at('fatal') }
    return { calls, logger: { ...own, ...(level === undefined ? {} : { level }) } }
  }

  test('a pino logger gets the fields, the object, the name and the error in its own format', () => {
    const { calls, logger } = pinoLike('info')
    const error = new Error('boom')
    createLogger(logger, 'kopf.objects', { object }).warn('m', { a: 1, error })
    expect(calls).toEqual([['warn', { a: 1, logger: 'kopf.objects', source: 'framework', object, err: error }, 'm']])
  })

  test('a pino logger decides the level, also when it changes', () => {
    const { calls, logger } = pinoLike('warn')
    const ours = createLogger(logger, 'x')
    ours.info('no')
    logger.level = 'trace'
    ours.debug('yes')
    logger.level = 'silent'
    ours.error('no')
    expect(calls.map((call) => (call as string[])[2])).toEqual(['yes'])
  })

  test('a failing pino logger does not throw', () => {
    const fail = () => {
      throw new Error('broken')
    }
    const sink = fromPino({ debug: fail, info: fail, warn: fail, error: fail })
    expect(() => createLogger(sink, 'x').info('m')).not.toThrow()
  })
})

test('the logging configuration of the process is shared with other copies of the package', () => {
  const slot = Symbol.for('kopf.logging')
  const shared = globalThis as { [slot: symbol]: unknown }
  const before = shared[slot]
  try {
    delete shared[slot]
    expect(defaultLogSink().minimumLevel).toBe('info')
    const sink = configureLogging({ verbose: true })
    expect(defaultLogSink()).toBe(sink)
    expect(shared[slot]).toBe(sink)
    shared[slot] = 'something else'
    expect(defaultLogSink().minimumLevel).toBe('info')
  } finally {
    if (before === undefined) delete shared[slot]
    else shared[slot] = before
  }
})
