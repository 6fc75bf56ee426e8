/** What webhook servers show in handshakes, whom they trust, and how that changes while they run. Checked with `openssl`. */
import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  WebhookDockerDesktopServer,
  WebhookK3dServer,
  WebhookMinikubeServer,
  WebhookServer,
  type WebhookServerOptions,
} from 'kopf/webhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CertificateAuthority, type KeyPair } from '../../src/util/certificates.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { allow, connectRaw, makeFolder, post, reviewOf, type Serving, serve } from './support.ts'

const run = promisify(execFile)

let folder: string
let authority: CertificateAuthority
let stranger: CertificateAuthority
let serving: KeyPair

beforeAll(async () => {
  folder = makeFolder()
  authority = await CertificateAuthority.create('the-authority')
  stranger = await CertificateAuthority.create('a-stranger')
  serving = await authority.issue({ commonName: 'localhost', hosts: ['localhost'] })
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0

function write(text: string): string {
  files += 1
  const path = join(folder, `${files}.pem`)
  writeFileSync(path, text)
  return path
}

/** The options of a server with a certificate in files. */
function inFiles({ certPem, keyPem }: KeyPair): Required<Pick<WebhookServerOptions, 'certfile' | 'pkeyfile'>> {
  return { certfile: write(certPem), pkeyfile: write(keyPem) }
}

/** What `openssl s_client` says, for better or worse. */
async function shakeHands({ url, ca }: Serving, ...options: string[]): Promise<{ code: number; output: string }> {
  const args = ['s_client', '-connect', `localhost:${url.port}`, '-CAfile', write(ca), '-verify_return_error']
  const running = run('openssl', [...args, ...options])
  running.child.stdin?.end()
  const {
    code = 0,
    stdout,
    stderr,
  } = await running.then(
    (said) => ({ ...said, code: 0 }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
  return { code, output: stdout + stderr }
}

async function shownBy(serving: Serving): Promise<X509Certificate> {
  const socket = await connectRaw(serving)
  const { raw } = socket.getPeerCertificate()
  socket.destroy()
  return new X509Certificate(raw)
}

function bundleOf(serving: Serving, index: number): string {
  return Buffer.from(serving.configs[index]!.caBundle!, 'base64').toString()
}

describe('a certificate that is made', () => {
  test('is one that openssl trusts by the bundle, for the name in the URL', async () => {
    await using server = await serve(new WebhookServer())
    const good = await shakeHands(server, '-verify_hostname', 'localhost', '-x509_strict')
    expect(good.output).toContain('Verify return code: 0 (ok)')
    expect(good.code).toBe(0)
    const other = await shakeHands(server, '-verify_hostname', 'example.com')
    expect(other.code).not.toBe(0)
    const leaf = write((await shownBy(server)).toString())
    const { stdout } = await run('openssl', ['verify', '-purpose', 'sslserver', '-CAfile', write(server.ca), leaf])
    expect(stdout).toContain('OK')
  })

  test('is known by an authority that is none of the system', async () => {
    await using server = await serve(new WebhookServer())
    expect((await shakeHands({ ...server, ca: stranger.caPem })).code).not.toBe(0)
    expect(new X509Certificate(server.ca).ca).toBe(true)
    expect((await shownBy(server)).ca).toBe(false)
  })

  test('is for the host, the address and the names besides', async () => {
    const options = {
      host: 'hooks.example.com',
      addr: '127.0.0.1',
      extraSans: ['other.example.com', '10.0.0.1', '::1'],
    }
    await using server = await serve(new WebhookServer(options))
    expect(server.url.href).toBe(`https://hooks.example.com:${server.url.port}/`)
    const shown = await shownBy({ ...server, url: new URL(`https://localhost:${server.url.port}`) }).catch(
      () => undefined,
    )
    // By a name that it does not have, it is not trusted.
    expect(shown).toBeUndefined()
    const { output } = await shakeHands(server, '-verify_hostname', 'hooks.example.com')
    const certificate = new X509Certificate(/-----BEGIN.*?-----END CERTIFICATE-----/s.exec(output)![0])
    expect(certificate.subject).toBe('CN=hooks.example.com')
    for (const name of ['hooks.example.com', 'other.example.com']) expect(certificate.checkHost(name)).toBe(name)
    for (const address of ['127.0.0.1', '10.0.0.1', '::1']) expect(certificate.checkIP(address)).toBeDefined()
  })

  test.each([
    [WebhookK3dServer, 'host.k3d.internal'],
    [WebhookMinikubeServer, 'host.minikube.internal'],
    [WebhookDockerDesktopServer, 'host.docker.internal'],
  ])('is for the name that local clusters have for this machine', async (Server, host) => {
    await using server = await serve(new Server({ path: 'x' }))
    expect(server.url.href).toBe(`https://${host}:${server.url.port}/x`)
    const { output } = await shakeHands(server, '-verify_hostname', host)
    expect(output).toContain('Verify return code: 0 (ok)')
    await using renamed = await serve(new Server({ host: 'localhost' }))
    expect(renamed.url.hostname).toBe('localhost')
  })

  test('is made anew after two thirds of its life, and nobody notices', async () => {
    const clock = new ManualClock()
    await using server = await serve(new WebhookServer(), allow, clock)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    await post(server, reviewOf(), { agent })
    const first = await shownBy(server)
    await clock.advance(243 * 24 * 3_600_000)
    expect((await shownBy(server)).serialNumber).toBe(first.serialNumber)
    await clock.advance(24 * 3_600_000)
    await until(async () => (await shownBy(server)).serialNumber !== first.serialNumber)
    // On the connection from before, and on new ones by the same bundle.
    expect((await post(server, reviewOf(), { agent })).status).toBe(200)
    expect((await post(server, reviewOf())).status).toBe(200)
    expect(server.configs).toHaveLength(1)
    agent.destroy()
  })
})

/** Things that take a moment, such as reading files and making keys. */
async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10))
}

describe('the handshake', () => {
  test.each(['-tls1', '-tls1_1'])('is refused with %s', async (version) => {
    await using server = await serve(new WebhookServer())
    // The security level keeps the client from offering it at all.
    const { code, output } = await shakeHands(server, version, '-cipher', 'ALL:@SECLEVEL=0')
    expect(code).not.toBe(0)
    expect(output).toMatch(/protocol version/i)
  })

  test.each(['-tls1_2', '-tls1_3'])('works with %s', async (version) => {
    await using server = await serve(new WebhookServer())
    expect((await shakeHands(server, version)).output).toContain('Verify return code: 0 (ok)')
  })

  test('obeys what Node is told besides', async () => {
    await using server = await serve(new WebhookServer({ context: { minVersion: 'TLSv1.3' } }))
    expect((await shakeHands(server, '-tls1_2')).code).not.toBe(0)
    expect((await shakeHands(server, '-tls1_3')).code).toBe(0)
  })
})

describe('what API servers are to trust', () => {
  test('is written to a file on request', async () => {
    const cadump = join(folder, 'dump.pem')
    await using server = await serve(new WebhookServer({ cadump }))
    expect(readFileSync(cadump, 'utf8')).toBe(server.ca)
  })

  test('is the certificate itself where nothing else is said', async () => {
    await using server = await serve(new WebhookServer(inFiles(serving)))
    expect(server.ca).toBe(serving.certPem)
  })

  test('is what it is said to be', async () => {
    await using one = await serve(new WebhookServer({ ...inFiles(serving), cafile: write(authority.caPem) }))
    await using other = await serve(new WebhookServer({ ...inFiles(serving), cadata: Buffer.from(authority.caPem) }))
    for (const server of [one, other]) {
      expect(server.ca).toBe(authority.caPem)
      expect((await post(server, reviewOf())).status).toBe(200)
    }
  })

  test('is left to the system for a certificate that Node is given', async () => {
    const context = { cert: serving.certPem, key: serving.keyPem }
    await using server = await serve(new WebhookServer({ context }))
    expect(server.configs).toEqual([{ url: `https://localhost:${server.url.port}` }])
    expect((await post({ ...server, ca: authority.caPem }, reviewOf())).status).toBe(200)
  })

  test('a file that cannot be written is said to be so', async () => {
    const cadump = join(folder, 'nowhere', 'ca.pem')
    await expect(serve(new WebhookServer({ cadump }))).rejects.toMatchObject({ code: 'KOPF_WEBHOOK_SERVER' })
  })
})

describe('a key that is encrypted', () => {
  let certfile: string
  let pkeyfile: string

  beforeAll(async () => {
    certfile = write(serving.certPem)
    pkeyfile = join(folder, 'encrypted.pem')
    const args = ['pkcs8', '-topk8', '-in', write(serving.keyPem), '-out', pkeyfile, '-passout', 'pass:canary-word']
    await run('openssl', args)
  })

  test('is read with its password, which nobody gets to see', async () => {
    const options = { certfile, pkeyfile, password: 'canary-word', cadata: authority.caPem }
    await using server = await serve(new WebhookServer(options))
    expect((await post(server, reviewOf())).status).toBe(200)
    expect(server.logs.join('')).not.toMatch(/canary-word|PRIVATE/)
  })

  test.each([{}, { password: 'another' }])('is refused with %j', async (options) => {
    const failing = serve(new WebhookServer({ certfile, pkeyfile, ...options }))
    await expect(failing).rejects.toThrow('the key is encrypted, and "password" is missing or another one')
  })
})

describe('files that will not do at the start', () => {
  test.each([
    ['no such file', () => ({ certfile: join(folder, 'none.pem'), pkeyfile: write(serving.keyPem) }), 'is not there'],
    ['no certificate', () => ({ certfile: write('hello'), pkeyfile: write(serving.keyPem) }), 'certificates in PEM'],
    [
      'half a certificate',
      () => ({ certfile: write(serving.certPem.slice(0, 300)), pkeyfile: write(serving.keyPem) }),
      'not whole ones',
    ],
    ['no key', () => ({ certfile: write(serving.certPem), pkeyfile: write('hello') }), 'a private key in PEM'],
    ['no authority', () => ({ verifyCafile: write('') }), 'certificates in PEM'],
    ['an empty folder', () => ({ verifyCapath: makeFolder() }), 'there are no files'],
  ])('%s', async (_, options, words) => {
    const failing = serve(new WebhookServer(options()))
    await expect(failing).rejects.toMatchObject({ code: 'KOPF_WEBHOOK_SERVER' })
    await expect(failing).rejects.toThrow(words)
  })

  test('a key of another certificate', async () => {
    const { keyPem } = await authority.issue({ commonName: 'localhost', hosts: ['localhost'] })
    const options = { certfile: write(serving.certPem), pkeyfile: write(keyPem) }
    await expect(serve(new WebhookServer(options))).rejects.toThrow('do not belong together')
  })

  test('one that has expired is used, with a warning', async () => {
    const old = await authority.issue({ commonName: 'localhost', hosts: ['localhost'], lifetimeMs: -60_000 })
    await using server = await serve(new WebhookServer(inFiles(old)))
    expect(server.logs.join('')).toContain('The certificate of the webhook server has expired')
  })
})

describe('client certificates', () => {
  let known: KeyPair
  let unknown: KeyPair
  let seen: unknown

  beforeAll(async () => {
    known = await authority.issue({ commonName: 'the-api-server', organizations: ['one', 'two'] })
    unknown = await stranger.issue({ commonName: 'the-api-server' })
  })

  const fn = async (_: unknown, info?: { sslpeer?: unknown }) => {
    seen = info?.sslpeer
    return {}
  }
  const by = ({ certPem, keyPem }: KeyPair) => ({ cert: certPem, key: keyPem })

  test('are not asked for unless that is said', async () => {
    await using server = await serve(new WebhookServer(), fn)
    expect((await post(server, {}, by(known))).status).toBe(200)
    expect(seen).toBeUndefined()
  })

  test('tell who it is, if they are of the authority', async () => {
    await using server = await serve(new WebhookServer({ verifyCadata: authority.caPem }), fn)
    expect((await post(server, {}, by(known))).status).toBe(200)
    const { serialNumber, fingerprint256, validTo } = new X509Certificate(known.certPem)
    expect(seen).toMatchObject({
      subject: { CN: 'the-api-server', O: ['one', 'two'] },
      issuer: { CN: 'the-authority' },
      subjectAltName: undefined,
      notAfter: validTo,
      serialNumber,
      fingerprint256,
    })
  })

  test('may be left out where they are optional, and not be of another authority', async () => {
    await using server = await serve(new WebhookServer({ verifyCafile: write(authority.caPem) }), fn)
    expect((await post(server, {})).status).toBe(200)
    expect(seen).toBeUndefined()
    await expect(post(server, {}, by(unknown))).rejects.toThrow()
  })

  test('must be there where they are required', async () => {
    const verifyCapath = makeFolder()
    writeFileSync(join(verifyCapath, 'one.pem'), authority.caPem)
    mkdirSync(join(verifyCapath, '..data'))
    await using server = await serve(new WebhookServer({ verifyCapath, verifyMode: 'required' }), fn)
    await expect(post(server, {})).rejects.toThrow()
    await expect(post(server, {}, by(unknown))).rejects.toThrow()
    await expect(post(server, {}, by(serving))).rejects.toThrow()
    expect((await post(server, {}, by(known))).status).toBe(200)
    const [cert, key] = [write(known.certPem), write(known.keyPem)]
    expect((await shakeHands(server, '-cert', cert, '-key', key)).output).toContain('Verify return code: 0 (ok)')
    rmSync(verifyCapath, { recursive: true })
  })

  test('are those of another authority when the file says so', async () => {
    const clock = new ManualClock()
    const verifyCafile = write(authority.caPem)
    await using server = await serve(new WebhookServer({ verifyCafile, verifyMode: 'required' }), fn, clock)
    const isWelcome = (pair: KeyPair) =>
      post(server, {}, by(pair)).then(
        () => true,
        () => false,
      )
    expect(await isWelcome(unknown)).toBe(false)
    writeFileSync(verifyCafile, stranger.caPem)
    await clock.advance(60_000)
    await until(() => isWelcome(unknown))
    expect(await isWelcome(known)).toBe(false)
  })
})

describe('files that change', () => {
  test('are looked at every so often, and the new ones are shown without a word to anybody', async () => {
    const clock = new ManualClock()
    const options = { ...inFiles(serving), cafile: write(authority.caPem), fileCheckInterval: '5m' as const }
    await using server = await serve(new WebhookServer(options), allow, clock)
    const next = await authority.issue({ commonName: 'localhost', hosts: ['localhost'] })
    writeFileSync(options.certfile, next.certPem)
    writeFileSync(options.pkeyfile, next.keyPem)
    const before = new X509Certificate(serving.certPem).serialNumber
    await clock.advance(299_000)
    expect((await shownBy(server)).serialNumber).toBe(before)
    await clock.advance(1000)
    await until(async () => (await shownBy(server)).serialNumber !== before)
    expect((await shownBy(server)).serialNumber).toBe(new X509Certificate(next.certPem).serialNumber)
    expect(server.configs).toHaveLength(1)
  })

  test('are kept as they were until they are whole and belong together', async () => {
    const clock = new ManualClock()
    const options = { ...inFiles(serving), cafile: write(authority.caPem) }
    await using server = await serve(new WebhookServer(options), allow, clock)
    const before = new X509Certificate(serving.certPem).serialNumber
    const next = await authority.issue({ commonName: 'localhost', hosts: ['localhost'] })
    const warnings = () => server.logs.filter((line) => line.includes('[WARNING'))
    const passes = async (text: string) => {
      writeFileSync(options.certfile, text)
      const { length } = warnings()
      await clock.advance(60_000)
      await until(() => warnings().length > length)
      expect((await shownBy(server)).serialNumber).toBe(before)
      // The same trouble is not told again.
      await clock.advance(60_000)
      await until(() => clock.sleeping > 0)
      expect(warnings()).toHaveLength(length + 1)
    }
    await passes(next.certPem.slice(0, 400))
    await passes(next.certPem)
    rmSync(options.certfile)
    await clock.advance(60_000)
    await until(() => warnings().length === 3)
    expect(warnings().join('')).not.toContain('PRIVATE')
    writeFileSync(options.certfile, next.certPem)
    writeFileSync(options.pkeyfile, next.keyPem)
    await until(() => clock.sleeping > 0)
    await clock.advance(60_000)
    await until(async () => (await shownBy(server)).serialNumber !== before)
  })

  test('of another authority are shown only when API servers have had the time to learn of it', async () => {
    const clock = new ManualClock()
    const options = { ...inFiles(serving), cafile: write(authority.caPem), cadump: join(folder, 'changing.pem') }
    await using server = await serve(new WebhookServer(options), allow, clock)
    const next = await stranger.issue({ commonName: 'localhost', hosts: ['localhost'] })
    writeFileSync(options.certfile, next.certPem)
    writeFileSync(options.pkeyfile, next.keyPem)
    writeFileSync(options.cafile, stranger.caPem)
    await clock.advance(60_000)
    await server.untilConfigs(2)
    // Both are trusted, and the old one is shown.
    expect(bundleOf(server, 1)).toBe(`${authority.caPem.trimEnd()}\n${stranger.caPem}`)
    expect((await shownBy(server)).issuer).toBe('CN=the-authority')
    await until(() => clock.sleeping > 0)
    await clock.advance(10_000)
    await server.untilConfigs(3)
    expect(bundleOf(server, 2)).toBe(stranger.caPem)
    expect((await shownBy({ ...server, ca: stranger.caPem })).issuer).toBe('CN=a-stranger')
    expect(readFileSync(options.cadump, 'utf8')).toBe(stranger.caPem)
    expect(new Set(server.configs.map(({ url }) => url)).size).toBe(1)
  })
})

test('nobody is turned away while certificates are renewed under load', async () => {
  const clock = new ManualClock()
  const options = { ...inFiles(serving), cafile: write(authority.caPem) }
  await using server = await serve(new WebhookServer(options), allow, clock)
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const serials = new Set<string>()
  let isOver = false
  let count = 0
  const ask = async (how: { agent?: Agent }) => {
    while (!isOver) {
      const { status } = await post(server, reviewOf(), how)
      if (status !== 200) throw new Error(`Answered ${status}`)
      count += 1
    }
  }
  const clients = Promise.all([...Array.from({ length: 8 }, () => ask({ agent })), ask({}), ask({})])
  for (let round = 0; round < 5; round += 1) {
    const next = await authority.issue({ commonName: 'localhost', hosts: ['localhost'] })
    writeFileSync(options.certfile, next.certPem)
    writeFileSync(options.pkeyfile, next.keyPem)
    const { serialNumber } = new X509Certificate(next.certPem)
    await until(() => clock.sleeping > 0)
    await clock.advance(60_000)
    await until(async () => (await shownBy(server)).serialNumber === serialNumber)
    serials.add(serialNumber)
  }
  isOver = true
  await clients
  expect(serials.size).toBe(5)
  expect(count).toBeGreaterThan(50)
  agent.destroy()
})
