/** The wire format of events, and its limits. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cutContent, toEventBody, toMicroTime } from './event-body.ts'

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

const cutMessage = (message: string): string => cutContent({ type: 'Normal', reason: 'R', message }).message

describe('messages', () => {
  test.each([
    ['as long as may be', 'x'.repeat(1024), 'x'.repeat(1024)],
    ['too long by one', `${'a'.repeat(512)}${'b'.repeat(513)}`, `${'a'.repeat(511)}...${'b'.repeat(510)}`],
    ['in bytes, not characters', 'é'.repeat(513), `${'é'.repeat(255)}...${'é'.repeat(255)}`],
    ['of pairs', '😀'.repeat(257), `${'😀'.repeat(127)}...${'😀'.repeat(127)}`],
    ['with half a pair', 'a\ud83db', 'a\ufffdb'],
    ['empty', '', ''],
  ])('%s', (_, message, expected) => {
    expect(cutMessage(message)).toBe(expected)
  })

  test('always fit, and keep both ends', () => {
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

  test('a reason is cut at 128 bytes, between characters', () => {
    const { reason } = cutContent({ type: 'Normal', reason: `x${'é'.repeat(100)}`, message: '' })
    expect(reason).toBe(`x${'é'.repeat(63)}`)
  })
})

test('the body is what Kopf posts', () => {
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

test('microseconds are there even when they are none', () => {
  expect(toMicroTime(Date.UTC(2030, 0, 1, 1, 2, 3, 4))).toBe('2030-01-01T01:02:03.004000Z')
})
