import { expect, test } from 'vitest'
import { checkMemo, copyMemo } from './memos.ts'

class Counter {
  count = 0
  tags: string[] = []
  get isUsed(): boolean {
    return this.count > 0
  }
}

class Sealed {
  #count = 0
  next(): number {
    this.#count += 1
    return this.#count
  }
}

class Cloned extends Sealed {
  clone(): Cloned {
    return new Cloned()
  }
}

test('a copy has the fields and the class, and goes its own way; what is in the fields is shared', () => {
  const memo = new Counter()
  const copy = copyMemo(memo) as Counter
  copy.count = 7
  copy.tags.push('shared')
  expect(copy).toBeInstanceOf(Counter)
  expect([memo.isUsed, copy.isUsed]).toEqual([false, true])
  expect(memo).toEqual(Object.assign(new Counter(), { count: 0, tags: ['shared'] }))
})

test('accessors of a literal look at the copy they are on', () => {
  const memo = {
    size: 1,
    get double() {
      return this.size * 2
    },
  }
  const copy = copyMemo(memo) as typeof memo
  copy.size = 5
  expect([memo.double, copy.double]).toEqual([2, 10])
})

test('an object without a prototype stays one', () => {
  const copy = copyMemo(Object.assign(Object.create(null), { a: 1 }))
  expect(Object.getPrototypeOf(copy)).toBeNull()
  expect(copy).toHaveProperty('a', 1)
})

test('clone() decides, and may answer with the memo itself', () => {
  const counted = copyMemo(new Cloned()) as Cloned
  expect([counted.next(), counted.next()]).toEqual([1, 2])
  const shared = {
    clone() {
      return this
    },
  }
  expect(copyMemo(shared)).toBe(shared)
})

test('a field of that name is no method: it is copied like the others', () => {
  expect(copyMemo({ clone: 'dolly' })).toEqual({ clone: 'dolly' })
})

test.each([
  ['nothing', { clone: () => undefined }, 'its clone() returned undefined; it returns an object'],
  ['null', { clone: () => null }, 'its clone() returned null; it returns an object'],
  ['a promise', { clone: async () => ({}) }, 'its clone() is async; what takes time belongs into a startup handler'],
  [
    'an error',
    {
      clone: () => {
        throw new Error('Out of paper')
      },
    },
    'its clone() failed: Out of paper',
  ],
])('a clone() that answers with %s is refused', (_, memo, problem) => {
  expect(() => copyMemo(memo)).toThrow(`Cannot give each object a copy of the memo: ${problem}`)
})

test.each([
  ['a plain object', {}],
  ['an object without a prototype', Object.create(null)],
  ['a class', new Counter()],
  ['a class with private fields and clone()', new Cloned()],
  ['a map with clone()', Object.assign(new Map(), { clone: () => new Map() })],
  ['an object of which fields cannot be copied, in a field', { sealed: new Sealed(), map: new Map() }],
])('%s will do', (_, memo) => {
  expect(() => checkMemo(memo)).not.toThrow()
})

const advice = 'give it a method clone() that returns a copy, or "this" for one memo that all objects share'

test.each([
  ['nothing', undefined, 'the factory of the memo returned undefined; it returns an object'],
  ['a string', 'text', 'the factory of the memo returned string; it returns an object'],
  ['a function', () => {}, 'the factory of the memo returned function; it returns an object'],
  [
    'a promise',
    Promise.resolve({}),
    'the factory of the memo is async; what takes time belongs into a startup handler',
  ],
  ['a map', new Map(), `the fields of Map are not all there is of it; ${advice}`],
  ['an array', [], `the fields of Array are not all there is of it; ${advice}`],
  [
    'a class made of a date',
    new (class Day extends Date {})(),
    `the fields of Date are not all there is of it; ${advice}`,
  ],
  ['a class with private fields', new Sealed(), `copies do not have the private fields of Sealed; ${advice}`],
  [
    'one derived from it',
    new (class extends Sealed {})(),
    `copies do not have the private fields of Sealed; ${advice}`,
  ],
  ['a class of the platform', new URL('http://localhost'), `copies do not have the private fields of URL; ${advice}`],
])('%s is refused', (_, memo, problem) => {
  expect(() => checkMemo(memo)).toThrow(`Cannot give each object a copy of the memo: ${problem}`)
})
