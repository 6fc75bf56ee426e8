import { describe, expect, test } from 'vitest'
import { checkServerOptions, verifyModeOf, type WebhookServerOptions } from './server-options.ts'

const check = (options: object) => () => checkServerOptions(options as WebhookServerOptions)

test('undefined webhook server options are ignored', () => {
  expect(checkServerOptions({ port: 9443, path: undefined } as object)).toEqual({ port: 9443 })
})

describe('refused webhook server options', () => {
  test.each([
    [{ extra_sans: [] }, 'did you mean "extraSans"?'],
    [{ colour: 'red' }, 'it has no option "colour"; there are "addr", "port", "path"'],
    [{ port: 70_000 }, '"port" must be a number from 1 to 65535'],
    [{ port: '9443' }, '"port" must be a number'],
    [{ addr: '' }, '"addr" must be a string that is not empty'],
    [{ path: '/a?b' }, '"path" must be the path of a URL'],
    [{ path: '/a b' }, '"path" must be the path of a URL'],
    [{ host: 'https://example.com' }, '"host" must be a host name or an address, without a scheme'],
    [{ host: 'example.com:443' }, '"host" must be a host name'],
    [{ insecure: 'yes' }, '"insecure" must be true or false'],
    [{ verifyMode: 'always' }, 'one of "none", "optional", "required"'],
    [{ fileCheckInterval: 0 }, '"fileCheckInterval" must be a number of seconds'],
    [{ fileCheckInterval: 'soon' }, '"fileCheckInterval" must be'],
    [{ extraSans: 'example.com' }, '"extraSans" must be a list'],
    [{ certfile: 'cert.pem' }, 'give "pkeyfile" too'],
    [{ pkeyfile: 'key.pem' }, 'give "certfile" too'],
    [{ insecure: true, context: {} }, '"insecure" means plain HTTP, which has no use for "context"'],
    [{ insecure: true, certfile: 'a', pkeyfile: 'b' }, 'which has no use for "certfile"'],
    [{ verifyMode: 'required' }, 'give "verifyCafile", "verifyCapath" or "verifyCadata"'],
    [{ verifyMode: 'none', verifyCafile: 'ca.pem' }, 'client certificates are not requested'],
    [{ context: { minVersion: 'TLSv1.1' } }, 'versions of TLS before 1.2'],
    [{ cadata: 5 }, '"cadata" must be certificates in PEM'],
  ])('the webhook server options %j are refused with an explanation', (options, words) => {
    expect(check(options)).toThrow(expect.objectContaining({ code: 'KOPF_WEBHOOK_SERVER' }))
    expect(check(options)).toThrow(words)
  })

  test('refused webhook server options do not reveal their value, which may be a password', () => {
    expect(check({ password: 12_345 })).not.toThrow('12345')
    expect(check({ password: 12_345 })).toThrow('"password" must be a string')
  })
})

test.each([
  [{}, 'none'],
  [{ verifyCafile: 'ca.pem' }, 'optional'],
  [{ verifyCapath: 'cas' }, 'optional'],
  [{ verifyCadata: 'pem', verifyMode: 'required' }, 'required'],
] as const)('the webhook server options %j make client certificates %s', (options, expected) => {
  expect(verifyModeOf(options)).toBe(expected)
})

test('options in camelCase are those of Kopf in another spelling', () => {
  const given = { caData: 'pem', certFile: 'a.pem', pkeyFile: 'b.pem', verifyCaFile: 'c.pem' }
  const expected = { cadata: 'pem', certfile: 'a.pem', pkeyfile: 'b.pem', verifyCafile: 'c.pem' }
  expect(checkServerOptions(given)).toEqual(expected)
})

test('an option in two spellings is refused', () => {
  expect(() => checkServerOptions({ caFile: 'a.pem', cafile: 'b.pem' })).toThrow('"cafile" is given in two spellings')
})
