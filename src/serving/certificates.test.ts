import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { afterAll, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { CertificateAuthority, type KeyPair } from '../util/certificates.ts'
import { createLogger, createLogSink } from '../util/log/log.ts'
import { serveCertificates } from './certificates.ts'
import { startEndpoint } from './endpoint.ts'

const folder = mkdtempSync(join(tmpdir(), 'kopf-serving-'))
const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
const authority = await CertificateAuthority.create('test CA')

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function write(commonName: string): Promise<void> {
  const { certPem, keyPem } = await authority.issue({ commonName, hosts: ['localhost'] })
  writeFileSync(certFile, certPem)
  writeFileSync(keyFile, keyPem)
}

function setUp(files: { certFile: string | null; keyFile: string | null }, host: string = '0.0.0.0') {
  const clock = new ManualClock()
  const lines: string[] = []
  const logger = createLogger(createLogSink({ format: 'plain', write: (line) => lines.push(line.trimEnd()) }), 'test')
  const fail = (why: string): never => {
    throw new Error(why)
  }
  const ending = new AbortController()
  const pairs = serveCertificates({ ...files, host, name: 'metrics', clock, logger, fail }, ending.signal)
  return { clock, lines, ending, pairs: pairs[Symbol.asyncIterator]() }
}

const nameOf = ({ certPem }: KeyPair) => new X509Certificate(certPem).subject

/** Lets the clock tick, in real time between the ticks since files are read, until the promise is settled. */
async function whileTicking<T>(clock: ManualClock, stepMs: number, work: Promise<T>): Promise<T> {
  let isOver = false
  work.finally(() => {
    isOver = true
  })
  while (!isOver) await clock.advance(stepMs)
  return work
}

test('a certificate is read again when its file has changed, and an invalid file is logged once', async () => {
  await write('first')
  const { clock, lines, ending, pairs } = setUp({ certFile, keyFile })
  expect(nameOf((await pairs.next()).value)).toBe('CN=first')
  const next = pairs.next()
  writeFileSync(certFile, 'half of a')
  const isLogged = async () => {
    while (lines.length < 1) await new Promise((resolve) => setImmediate(resolve))
  }
  await whileTicking(clock, 60_000, isLogged())
  expect(lines).toEqual([
    expect.stringContaining('has no complete certificates in PEM; the earlier certificate stays in use'),
  ])
  await write('second')
  expect(nameOf((await whileTicking(clock, 60_000, next)).value)).toBe('CN=second')
  expect(lines.at(-1)).toContain('The endpoint of metrics uses a renewed certificate')
  const last = pairs.next()
  ending.abort()
  expect(await last).toEqual({ done: true, value: undefined })
})

test('a self-signed certificate is renewed after two thirds of its time', async () => {
  const { clock, ending, pairs } = setUp({ certFile: null, keyFile: null }, 'operator.example.com')
  const first: KeyPair = (await pairs.next()).value
  expect(new X509Certificate(first.certPem).subjectAltName).toContain('DNS:operator.example.com')
  const startMs = clock.now()
  const second: KeyPair = (await whileTicking(clock, 24 * 3_600_000, pairs.next())).value
  expect(second.certPem).not.toBe(first.certPem)
  expect((clock.now() - startMs) / (24 * 3_600_000)).toBeGreaterThan(243)
  ending.abort()
})

test('new connections get the renewed certificate', async () => {
  let renewed = (_: KeyPair) => {}
  const second = new Promise<KeyPair>((resolve) => {
    renewed = resolve
  })
  const issue = (commonName: string) => authority.issue({ commonName, hosts: ['localhost'] })
  async function* certificates() {
    yield await issue('first')
    yield await second
  }
  const endpoint = await startEndpoint({
    address: { scheme: 'https', host: '127.0.0.1', port: 0, path: '/' },
    name: 'a test',
    code: 'KOPF_TEST',
    certificates,
    onRequest: () => {},
  })
  const present = () =>
    new Promise<string>((resolve, reject) => {
      const socket = tls.connect({ port: endpoint.address.port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(new X509Certificate(socket.getPeerCertificate().raw).subject)
        socket.destroy()
      })
      socket.on('error', reject)
    })
  expect(await present()).toBe('CN=first')
  renewed(await issue('second'))
  await expect.poll(present).toBe('CN=second')
  await endpoint.close()
})
