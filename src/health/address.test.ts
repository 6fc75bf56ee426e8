import { expect, test } from 'vitest'
import { formatEndpointAddress } from '../serving/address.ts'
import { parseHealthAddress } from './address.ts'

function parse(text: string): ReturnType<typeof parseHealthAddress> {
  return parseHealthAddress(text, (why) => {
    throw new Error(why)
  })
}

test.each([
  ['http://0.0.0.0:8080/healthz', { host: '0.0.0.0', port: 8080, path: '/healthz' }],
  ['http://0.0.0.0:8080', { host: '0.0.0.0', port: 8080, path: '/' }],
  ['http://0.0.0.0:8080/', { host: '0.0.0.0', port: 8080, path: '/' }],
  ['http://example.com/live/ness', { host: 'example.com', port: 80, path: '/live/ness' }],
  ['http://:8080/healthz', { host: 'localhost', port: 8080, path: '/healthz' }],
  ['http:///healthz', { host: 'localhost', port: 80, path: '/healthz' }],
  ['http://', { host: 'localhost', port: 80, path: '/' }],
  ['http://localhost:/healthz', { host: 'localhost', port: 80, path: '/healthz' }],
  ['http://[::]:0/x', { host: '::', port: 0, path: '/x' }],
  ['HTTP://localhost/x', { host: 'localhost', port: 80, path: '/x' }],
  ['http://localhost/é x', { host: 'localhost', port: 80, path: '/%C3%A9%20x' }],
  ['http://localhost/readyz/', { host: 'localhost', port: 80, path: '/readyz/' }],
])('the health address %s is parsed', (text, expected) => {
  expect(parse(text)).toEqual({ scheme: 'http', ...expected })
})

test.each([
  ['https://0.0.0.0:8080/healthz', 'only http is served'],
  ['tcp://0.0.0.0:8080', 'only http is served'],
  ['0.0.0.0:8080/healthz', 'expected an address such as'],
  ['8080', 'expected an address such as'],
  ['', 'expected an address such as'],
  ['http://user:word@localhost/x', 'expected an address such as'],
  ['http://localhost:http/x', 'expected an address such as'],
  ['http://localhost/x?verbose', 'expected an address such as'],
  ['http://localhost/x#top', 'expected an address such as'],
  ['http://localhost:65536/x', 'up to 65535'],
  ['http://localhost/readyz', 'choose another path'],
  ['http://localhost/./readyz', 'choose another path'],
])('the health address %s is refused', (text, why) => {
  expect(() => parse(text)).toThrow(why)
})

test('a parsed health address is formatted with its defaults', () => {
  const written = (text: string) => formatEndpointAddress(parse(text))
  expect(written('http://:8080')).toBe('http://localhost:8080/')
  expect(written('http://[::1]/healthz')).toBe('http://[::1]:80/healthz')
})
