import { expect, test } from 'vitest'
import { OutputHold } from './output-hold.ts'

class Stream {
  text = ''
  write(chunk: string | Uint8Array): boolean {
    this.text += chunk
    return true
  }
}

test('output is held back until the hold is released, in its order over both streams', () => {
  const out = new Stream()
  const order: string[] = []
  const error = { write: (chunk: string | Uint8Array) => order.push(`error ${chunk}`) > 0 }
  out.write = (chunk) => order.push(`out ${chunk}`) > 0
  const hold = new OutputHold(out, error)
  out.write('1')
  error.write('2')
  out.write('3')
  expect(order).toEqual([])
  hold[Symbol.dispose]()
  expect(order).toEqual(['out 1', 'error 2', 'out 3'])
  out.write('4')
  expect(order.at(-1)).toBe('out 4')
})

test('a writer that waits for its write goes on while the output is held back', () => {
  const out = new Stream()
  let isDone = false
  using _hold = new OutputHold(out)
  ;(out.write as (chunk: string, encoding: string, done: () => void) => boolean)('x', 'utf8', () => {
    isDone = true
  })
  expect(isDone).toBe(true)
})

test('of more output than a terminal keeps, the newest is printed', () => {
  const out = new Stream()
  const hold = new OutputHold(out)
  const line = `${'x'.repeat(99)}\n`
  for (let number = 0; number < 30_000; number += 1) out.write(`${String(number).padStart(6)}${line.slice(6)}`)
  hold[Symbol.dispose]()
  const lines = out.text.split('\n')
  expect(lines[0]).toBe('… earlier output was dropped')
  expect(lines).toHaveLength(10_002)
  expect(lines.at(-2)).toMatch(/^ 29999x/)
  expect(lines[1]).toMatch(/^ 20000x/)
})

test('a hold has no effect on the class of the stream', () => {
  const out = new Stream()
  new OutputHold(out)[Symbol.dispose]()
  expect(Object.hasOwn(out, 'write')).toBe(false)
})
