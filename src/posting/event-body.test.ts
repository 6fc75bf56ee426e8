/** The wire format of events, and its limits. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toEventBody, toMicroTime, truncateContent } from './event-body.ts'

const settings = {
  enabled: true,
  loggers: false,
  level: 'info',
  reportingComponent: 'kopf',
  reportingInstance: 'dev',
  eventNamePrefix: 'kopf-event-',
  defaultBackoffs: [],
  loggingBackoffs: [],
  workerLimit: null,
} as const

const cutMessage = (message: string): string => truncateContent({ type: 'Normal', reason: 'R', message }).message

describe('messages of events', () => {
  test.each([
    ['with the maximum length', 'x'.repeat(1024), 'x'.repeat(1024)],
    ['that is too long by one byte', `${'a'.repeat(512)}${'b'.repeat(513)}`, `${'a'.repeat(511)}...${'b'.repeat(510)}`],
    ['with characters of two bytes', 'é'.repeat(513), `${'é'.repeat(255)}...${'é'.repeat(255)}`],
    ['with surrogate pairs', '😀'.repeat(257), `${'😀'.repeat(127)}...${'😀'.repeat(127)}`],
    ['with half a surrogate pair', 'a\ud83db', 'a\ufffdb'],
    ['empty', '', ''],
  ])('the message of an event %s fits into 1024 bytes', (_, message, expected) => {
    expect(cutMessage(message)).toBe(expected)
  })

  test('the message of an event always fits, and keeps both ends', () => {
    const anyText = fc.string({ unit: 'binary', minLength: 200, maxLength: 1500 })
    fc.assert(
      fc.property(anyText, (message) => {
        const cut = cutMessage(message)
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(1024)
        if (Buffer.byteLength(message) <= 1024) expect(cut).toBe(message)
        else expect(isMiddleCut(message, cut)).toBe(true)
      }),
      { numRuns: 50 },
    )
  })

  function isMiddleCut(message: string, cut: string): boolean {
    for (let at = cut.indexOf('...'); at >= 0; at = cut.indexOf('...', at + 1)) {
      if (message.startsWith(cut.slice(0, at)) && message.endsWith(cut.slice(at + 3))) return true
    }
    return false
  }

  test('the reason of an event is cut to 128 bytes between characters', () => {
    const { reason } = truncateContent({ type: 'Normal', reason: `x${'é'.repeat(100)}`, message: '' })
    expect(reason).toBe(`x${'é'.repeat(63)}`)
  })
})

test('the body of an event is the same as in Kopf', () => {
  const reference = { apiVersion: 'kopf.dev/v1', kind: 'KopfExample', name: 'n1', uid: 'u1', namespace: null }
  const content = { type: 'Normal', reason: 'Because', message: 'Hello' }
  const timeMs = Date.UTC(2030, 0, 1)
  const body = toEventBody(reference, 'default', content, { count: 1, firstMs: timeMs, lastMs: timeMs }, settings)
  expect(body).toEqual({
    metadata: { namespace: 'default', generateName: 'kopf-event-' },
    action: 'Action?',
    type: 'Normal',
    reason: 'Because',
    message: 'Hello',
    reportingComponent: 'kopf',
    reportingInstance: 'dev',
    source: { component: 'kopf' },
    involvedObject: { apiVersion: 'kopf.dev/v1', kind: 'KopfExample', name: 'n1', uid: 'u1', namespace: 'default' },
    firstTimestamp: '2030-01-01T00:00:00.000000Z',
    lastTimestamp: '2030-01-01T00:00:00.000000Z',
    eventTime: '2030-01-01T00:00:00.000000Z',
  })
})

test('the time of an event always has microseconds', () => {
  expect(toMicroTime(Date.UTC(2030, 0, 1, 1, 2, 3, 4))).toBe('2030-01-01T01:02:03.004000Z')
})
