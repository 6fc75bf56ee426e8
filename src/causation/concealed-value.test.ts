import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { toPlainJson } from '../patching/patch.ts'
import { createLogger, createLogSink } from '../util/log/log.ts'
import { ConcealedValue, digestSecretValue, readConcealed, toConcealed } from './concealed-value.ts'

const value = 'aHVudGVyMg=='
const key = 'uid-1'
const digest = digestSecretValue(value, key)
const concealed = toConcealed({ digest, key })

describe('concealed values', () => {
  test('a concealed value is printed as a fixed text in every way of printing', () => {
    const logged: string[] = []
    const sink = createLogSink({ format: 'json', write: (line) => logged.push(line) })
    createLogger(sink, 'kopf.objects').info(`${concealed}`, { old: { password: concealed } })
    const texts = [
      String(concealed),
      `${concealed}`,
      concealed.toLocaleString(),
      JSON.stringify({ concealed }),
      inspect(concealed, { showHidden: true }),
      inspect({ deep: { concealed } }, { depth: 10 }),
      logged.join(),
      JSON.stringify(Object.entries(concealed)),
      JSON.stringify(structuredClone(concealed)),
      JSON.stringify(Object.getOwnPropertyNames(concealed)),
    ]
    expect(texts.slice(0, 7).every((text) => text.includes('[concealed]'))).toBe(true)
    for (const secret of [value, digest, digest.slice('sha256:'.length), key]) {
      expect(texts.join('\n')).not.toContain(secret)
    }
  })

  test('a concealed value tells whether a present value equals it', () => {
    expect(concealed.matches(value)).toBe(true)
    for (const other of ['b3RoZXI=', '', digest, null, undefined, {}, [value], 5]) {
      expect(concealed.matches(other)).toBe(false)
    }
  })

  test('a concealed value equals another concealed value of the same Secret with the same content', () => {
    expect(concealed.matches(toConcealed({ digest, key }))).toBe(true)
    expect(concealed.matches(toConcealed({ digest: digestSecretValue(value, 'uid-2'), key: 'uid-2' }))).toBe(false)
    expect(ConcealedValue.of(value).matches(ConcealedValue.of(value))).toBe(true)
  })

  test('a concealed value is an instance of ConcealedValue, also after freezing and after a round trip', () => {
    expect(Object.freeze(concealed)).toBeInstanceOf(ConcealedValue)
    expect(toConcealed(readConcealed(concealed)).matches(value)).toBe(true)
    expect(ConcealedValue.of(value)).toBeInstanceOf(ConcealedValue)
    for (const other of ['[concealed]', {}, null, undefined, structuredClone(concealed)]) {
      expect(other).not.toBeInstanceOf(ConcealedValue)
    }
  })

  test('a concealed value cannot be written into an object', () => {
    for (const written of [concealed, { data: { password: concealed } }, [concealed]]) {
      expect(() => toPlainJson(written)).toThrow('The old value of a Secret is concealed and cannot be written')
    }
  })
})
