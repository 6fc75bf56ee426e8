import { describe, expect, test } from 'vitest'
import { parseNgrokError, parseTunnelUrl } from './process.ts'

const json = (entry: object) => JSON.stringify({ t: '2026-01-01T00:00:00Z', lvl: 'info', ...entry })

test.each([
  ['the tunnel', json({ msg: 'started tunnel', url: 'https://a.ngrok-free.app' }), 'https://a.ngrok-free.app'],
  ['the web interface', json({ msg: 'starting web service', addr: '127.0.0.1:4040' }), undefined],
  ['a tunnel without TLS', json({ msg: 'started tunnel', url: 'http://a.ngrok-free.app' }), undefined],
  ['plain text', 'ngrok by @inconshreveable', undefined],
  ['other JSON', '[1]', undefined],
])('an ngrok log line about %s is searched for the tunnel address', (_, line, url) => {
  expect(parseTunnelUrl(line)).toBe(url)
})

describe('ngrok errors', () => {
  test.each([
    [
      'in a JSON line',
      json({ err: 'failed to connect\nERR_NGROK_8012', msg: 'x' }),
      'failed to connect ERR_NGROK_8012',
    ],
    ['in a plain text line', 'ERROR:  authentication failed: ERR_NGROK_4018', 'authentication failed: ERR_NGROK_4018'],
    ['only if the JSON error is not nil', json({ err: '<nil>', msg: 'update available' }), undefined],
    ['only if the plain text error is not empty', 'ERROR:  ', undefined],
    ['only if the JSON line has an error', json({ msg: 'started tunnel' }), undefined],
  ])('an ngrok error is found %s', (_, line, complaint) => {
    expect(parseNgrokError(line)).toBe(complaint)
  })

  test('an ngrok error does not reveal a token', () => {
    const line = json({ err: 'authentication failed\nYour authtoken: 2abcSECRET\r\nERR_NGROK_107' })
    expect(parseNgrokError(line)).toBe('authentication failed Your authtoken: (hidden) ERR_NGROK_107')
  })
})
