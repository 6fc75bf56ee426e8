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

test('the copy of a memo has its own fields and the same class, and shares nested values', () => {
  const memo = new Counter()
  const copy = copyMemo(memo) as Counter
  copy.count = 7
  copy.tags.push('shared')
  expect(copy).toBeInstanceOf(Counter)
  expect([memo.isUsed, copy.isUsed]).toEqual([false, true])
  expect(memo).toEqual(Object.assign(new Counter(), { count: 0, tags: ['shared'] }))
})

test('the copy of a memo has accessors that refer to the copy', () => {
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

test('the copy of a memo without a prototype has no prototype', () => {
  const copy = copyMemo(Object.assign(Object.create(null), { a: 1 }))
  expect(Object.getPrototypeOf(copy)).toBeNull()
  expect(copy).toHaveProperty('a', 1)
})

test('the copy of a memo is made by its clone() method, which can return the memo itself', () => {
  const counted = copyMemo(new Cloned()) as Cloned
  expect([counted.next(), counted.next()]).toEqual([1, 2])
  const shared = {
    clone() {
      return this
    },
  }
  expect(copyMemo(shared)).toBe(shared)
})

test('a memo field named "clone" that is not a function is copied like other fields', () => {
  expect(copyMemo({ clone: 'dolly' })).toEqual({ clone: 'dolly' })
})

test.each([
  ['undefined', { clone: () => undefined }, 'its clone() returned undefined; it must return an object'],
  ['null', { clone: () => null }, 'its clone() returned null; it must return an object'],
  ['a promise', { clone: async () => ({}) }, 'its clone() is async; move slow work into a startup handler'],
  [
    'an error',
    {
      clone: () => {
        throw new Error('Out of paper')
      },
    },
    'its clone() failed: Out of paper',
  ],
])('a clone() of a memo that returns %s is refused', (_, memo, problem) => {
  expect(() => copyMemo(memo)).toThrow(`Cannot give each object a copy of the memo: ${problem}`)
})

test.each([
  ['a plain object', {}],
  ['an object without a prototype', Object.create(null)],
  ['a class', new Counter()],
  ['a class with private fields and clone()', new Cloned()],
  ['a map with clone()', Object.assign(new Map(), { clone: () => new Map() })],
  ['an object with uncopyable values in its fields', { sealed: new Sealed(), map: new Map() }],
])('a memo that is %s is accepted', (_, memo) => {
  expect(() => checkMemo(memo)).not.toThrow()
})

const advice = 'give it a method clone() that returns a copy, or "this" for one memo that all objects share'

test.each([
  ['undefined', undefined, 'the factory of the memo returned undefined; it must return an object'],
  ['a string', 'text', 'the factory of the memo returned string; it must return an object'],
  ['a function', () => {}, 'the factory of the memo returned function; it must return an object'],
  ['a promise', Promise.resolve({}), 'the factory of the memo is async; move slow work into a startup handler'],
  ['a map', new Map(), `the fields of Map do not hold its whole state; ${advice}`],
  ['an array', [], `the fields of Array do not hold its whole state; ${advice}`],
  [
    'an instance of a class derived from Date',
    new (class Day extends Date {})(),
    `the fields of Date do not hold its whole state; ${advice}`,
  ],
  ['a class with private fields', new Sealed(), `copies do not have the private fields of Sealed; ${advice}`],
  [
    'an instance of a class derived from one with private fields',
    new (class extends Sealed {})(),
    `copies do not have the private fields of Sealed; ${advice}`,
  ],
  ['a class of the platform', new URL('http://localhost'), `copies do not have the private fields of URL; ${advice}`],
])('a memo that is %s is refused', (_, memo, problem) => {
  expect(() => checkMemo(memo)).toThrow(`Cannot give each object a copy of the memo: ${problem}`)
})
