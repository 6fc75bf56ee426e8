import { describe, expect, test } from 'vitest'
import { complaintOf, tunnelUrlOf } from './ngrok-log.ts'

const json = (entry: object) => JSON.stringify({ t: '2026-01-01T00:00:00Z', lvl: 'info', ...entry })

test.each([
  ['the tunnel', json({ msg: 'started tunnel', url: 'https://a.ngrok-free.app' }), 'https://a.ngrok-free.app'],
  ['its web interface', json({ msg: 'starting web service', addr: '127.0.0.1:4040' }), undefined],
  ['a tunnel without TLS', json({ msg: 'started tunnel', url: 'http://a.ngrok-free.app' }), undefined],
  ['words for people', 'ngrok by @inconshreveable', undefined],
  ['other JSON', '[1]', undefined],
])('the address of a tunnel in a line about %s', (_, line, url) => {
  expect(tunnelUrlOf(line)).toBe(url)
})

describe('a complaint', () => {
  test.each([
    ['in the log', json({ err: 'failed to connect\nERR_NGROK_8012', msg: 'x' }), 'failed to connect ERR_NGROK_8012'],
    ['for people', 'ERROR:  authentication failed: ERR_NGROK_4018', 'authentication failed: ERR_NGROK_4018'],
    ['that is none', json({ err: '<nil>', msg: 'update available' }), undefined],
    ['that is an empty line', 'ERROR:  ', undefined],
    ['that is missing', json({ msg: 'started tunnel' }), undefined],
  ])('%s', (_, line, complaint) => {
    expect(complaintOf(line)).toBe(complaint)
  })

  test('does not repeat a token', () => {
    const line = json({ err: 'authentication failed\nYour authtoken: 2abcSECRET\r\nERR_NGROK_107' })
    expect(complaintOf(line)).toBe('authentication failed Your authtoken: (hidden) ERR_NGROK_107')
  })
})
