import { expect, test } from 'vitest'
import { expectLinearGrowth } from '../../test/support/growth.ts'
import { readWatchLines } from './watch-lines.ts'

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

async function linesOf(body: AsyncIterable<Uint8Array>): Promise<string[]> {
  const lines: string[] = []
  for await (const some of readWatchLines(body)) {
    expect(some.length).toBeGreaterThan(0)
    lines.push(...some)
  }
  return lines
}

const cases: ReadonlyArray<[string, string, readonly string[]]> = [
  ['no content', '', []],
  ['one line', 'a\n', ['a']],
  ['several lines', 'a\nbc\ndef\n', ['a', 'bc', 'def']],
  ['a line without an end', 'a\nbc', ['a']],
  ['only a line without an end', 'abc', []],
  ['empty lines', '\n\na\n\n\nb\n\n', ['a', 'b']],
  ['carriage returns', 'a\r\n\r\nb\r\n', ['a', 'b']],
  ['a carriage return inside a line', 'a\rb\n', ['a\rb']],
  ['a byte order mark', '\ufeffa\nb\n', ['a', 'b']],
  ['a byte order mark alone', '\ufeff\na\n', ['a']],
  ['a byte order mark inside a line', 'a\ufeffb\n', ['a\ufeffb']],
  ['characters of several bytes', 'ä€𝄞\n“𝄞”\n', ['ä€𝄞', '“𝄞”']],
  ['an unfinished line of characters of several bytes', 'a\nä€𝄞', ['a']],
]

test.each(cases)('a watch body with %s gives the same lines for every chunk size', async (_, text, expected) => {
  const bytes = Buffer.from(text)
  for (let size = 1; size <= bytes.length + 1; size += 1) {
    expect(await linesOf(pieces(bytes, size)), `in pieces of ${size}`).toEqual(expected)
  }
})

test('a watch body that ends anywhere yields exactly its complete lines', async () => {
  const bytes = Buffer.from('{"a":"ä"}\n{"b":"𝄞"}\n')
  for (let end = 0; end <= bytes.length; end += 1) {
    const complete = bytes.subarray(0, end).toString('latin1').split('\n').slice(0, -1)
    const expected = complete.map((line) => Buffer.from(line, 'latin1').toString('utf8'))
    expect(await linesOf(pieces(bytes.subarray(0, end), 3))).toEqual(expected)
  }
})

test('the watch lines that one chunk completes are yielded together', async () => {
  const batches: Array<readonly string[]> = []
  for await (const lines of readWatchLines(pieces(Buffer.from('a\nb\nc\nd\n'), 5))) batches.push(lines)
  expect(batches).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ])
})

test('a long watch line in small chunks is read in linear time', async () => {
  await expectLinearGrowth({
    n: 256 * 1024,
    prepare: (n) => Buffer.concat([Buffer.alloc(n, 'x'), Buffer.from('\ny\n')]),
    run: async (bytes) => {
      const lines = await linesOf(pieces(bytes, 32))
      expect(lines.map((line) => line.length)).toEqual([bytes.length - 3, 1])
    },
  })
})

test('many watch lines in one chunk are read in linear time', async () => {
  await expectLinearGrowth({
    n: 25_000,
    prepare: (n) => Buffer.from('{"a":1}\n'.repeat(n)),
    run: async (bytes) => {
      expect(await linesOf(pieces(bytes, bytes.length))).toHaveLength(bytes.length / 8)
    },
  })
})

test('a watch line without an end is read up to the limit, and the body is closed', async () => {
  let sent = 0
  let isClosed = false
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        sent += 1024
        yield Buffer.alloc(1024, 'x')
      }
    } finally {
      isClosed = true
    }
  }
  const read = async () => {
    for await (const _ of readWatchLines(endless(), 64 * 1024)) expect.unreachable()
  }
  await expect(read()).rejects.toMatchObject({ code: 'KOPF_WATCH_LINE' })
  expect([sent, isClosed]).toEqual([65 * 1024, true])
})

test('the watch line reader copies unfinished lines, since the buffer of a chunk may be reused', async () => {
  const shared = Buffer.from('....abc')
  async function* windows(): AsyncGenerator<Uint8Array> {
    yield shared.subarray(4)
    shared.fill('x')
    yield Buffer.from('d\n')
  }
  expect(await linesOf(windows())).toEqual(['abcd'])
})

test('the watch line reader closes the body when its consumer leaves, and passes on errors of the body', async () => {
  let isClosed = false
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.from('a\n')
    } finally {
      isClosed = true
    }
  }
  for await (const _ of readWatchLines(endless())) break
  expect(isClosed).toBe(true)
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a\nb')
    throw new Error('connection reset')
  }
  await expect(linesOf(broken())).rejects.toThrow('connection reset')
})
