import { expect, test } from 'vitest'
import { formatEndpointAddress, isLoopbackHost, parseEndpointAddress, toHostName } from './address.ts'

function parse(text: string): ReturnType<typeof parseEndpointAddress> {
  return parseEndpointAddress(text, {
    defaultPort: 8443,
    defaultPath: '/metrics',
    fail: (why) => {
      throw new Error(why)
    },
  })
}

test.each([
  ['9000', 'https://0.0.0.0:9000/metrics'],
  [':9000', 'https://0.0.0.0:9000/metrics'],
  ['0', 'https://0.0.0.0:0/metrics'],
  ['localhost', 'http://localhost:8443/metrics'],
  ['LocalHost:9000', 'http://LocalHost:9000/metrics'],
  ['127.0.0.1:9000', 'http://127.0.0.1:9000/metrics'],
  ['127.1.2.3', 'http://127.1.2.3:8443/metrics'],
  ['[::1]:9000', 'http://[::1]:9000/metrics'],
  ['[::]', 'https://[::]:8443/metrics'],
  ['[::]:9000/prometheus', 'https://[::]:9000/prometheus'],
  ['0.0.0.0', 'https://0.0.0.0:8443/metrics'],
  ['127.0.0.1.example.com', 'https://127.0.0.1.example.com:8443/metrics'],
  ['operator.example.com:443', 'https://operator.example.com:443/metrics'],
  ['http://0.0.0.0:8080', 'http://0.0.0.0:8080/metrics'],
  ['https://localhost', 'https://localhost:8443/metrics'],
  ['HTTPS://localhost:1/a/é', 'https://localhost:1/a/%C3%A9'],
  ['http://:8080/', 'http://0.0.0.0:8080/'],
  [':9000/metrics/all', 'https://0.0.0.0:9000/metrics/all'],
])('the address %s is served as %s', (text, expected) => {
  expect(formatEndpointAddress(parse(text))).toBe(expected)
})

test.each([
  ['', 'expected an address such as :8443, localhost:8443 or https://0.0.0.0:8443/metrics'],
  ['tcp://localhost', 'only http and https are served'],
  ['unix:///run/metrics', 'only http and https are served'],
  ['::1', 'expected an address'],
  ['fe80::1:9000', 'expected an address'],
  ['[localhost]:80', 'is not an IPv6 address'],
  ['localhost:metrics', 'expected an address'],
  ['http://user:word@localhost', 'expected an address'],
  ['localhost?token=a', 'expected an address'],
  ['local host', 'expected an address'],
  ['70000', 'up to 65535'],
  [':70000', 'up to 65535'],
])('the address %s is refused', (text, why) => {
  expect(() => parse(text)).toThrow(why)
})

test.each([
  ['localhost:80', 'localhost'],
  ['LOCALHOST', 'localhost'],
  ['[::1]:8443', '::1'],
  ['127.0.0.1.example.com:80', '127.0.0.1.example.com'],
  ['', undefined],
  [undefined, undefined],
  ['a:b:c', undefined],
])('the Host header %s has the name %s', (header, name) => {
  expect(toHostName(header)).toBe(name)
})

test('only names and addresses of the loopback interface count as loopback hosts', () => {
  const hosts = ['localhost', '127.0.0.1', '::1', '0.0.0.0', '::', '127.0.0.1.example.com', 'localhost.example.com']
  expect(hosts.filter(isLoopbackHost)).toEqual(['localhost', '127.0.0.1', '::1'])
})
