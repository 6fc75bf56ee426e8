/** Certificates of webhook servers: the served one, the trusted ones, and their renewal at runtime. Checked with `openssl`. */
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
import { allow, connectRaw, makeFolder, post, reviewOf, type Serving, serve } from './webhook-support.ts'

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

/** Writes a certificate to files and returns the server options for them. */
function inFiles({ certPem, keyPem }: KeyPair): Required<Pick<WebhookServerOptions, 'certfile' | 'pkeyfile'>> {
  return { certfile: write(certPem), pkeyfile: write(keyPem) }
}

/** The exit code and the output of `openssl s_client`. */
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

describe('generated certificates', () => {
  test('a generated certificate is trusted by openssl with the CA bundle for the name in the URL', async () => {
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

  test('a generated certificate is signed by its own authority, which the system does not trust', async () => {
    await using server = await serve(new WebhookServer())
    expect((await shakeHands({ ...server, ca: stranger.caPem })).code).not.toBe(0)
    expect(new X509Certificate(server.ca).ca).toBe(true)
    expect((await shownBy(server)).ca).toBe(false)
  })

  test('a generated certificate is valid for the host, the address and the extra names', async () => {
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
    // Node does not trust the certificate for "localhost", which it does not contain.
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
  ])('a generated certificate is valid for the name of this machine in local clusters', async (Server, host) => {
    await using server = await serve(new Server({ path: 'x' }))
    expect(server.url.href).toBe(`https://${host}:${server.url.port}/x`)
    const { output } = await shakeHands(server, '-verify_hostname', host)
    expect(output).toContain('Verify return code: 0 (ok)')
    await using renamed = await serve(new Server({ host: 'localhost' }))
    expect(renamed.url.hostname).toBe('localhost')
  })

  test('a generated certificate is renewed after two thirds of its life without interruption', async () => {
    const clock = new ManualClock()
    await using server = await serve(new WebhookServer(), allow, clock)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    await post(server, reviewOf(), { agent })
    const first = await shownBy(server)
    await clock.advance(243 * 24 * 3_600_000)
    expect((await shownBy(server)).serialNumber).toBe(first.serialNumber)
    await clock.advance(24 * 3_600_000)
    await until(async () => (await shownBy(server)).serialNumber !== first.serialNumber)
    // The old connection works, and new connections work with the same CA bundle.
    expect((await post(server, reviewOf(), { agent })).status).toBe(200)
    expect((await post(server, reviewOf())).status).toBe(200)
    expect(server.configs).toHaveLength(1)
    agent.destroy()
  })
})

/** Waits for operations in real time, such as reading files and generating keys. */
async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10))
}

describe('TLS handshakes', () => {
  test.each(['-tls1', '-tls1_1'])('a TLS handshake with %s is refused', async (version) => {
    await using server = await serve(new WebhookServer())
    // At the default security level the client would not offer this version.
    const { code, output } = await shakeHands(server, version, '-cipher', 'ALL:@SECLEVEL=0')
    expect(code).not.toBe(0)
    expect(output).toMatch(/protocol version/i)
  })

  test.each(['-tls1_2', '-tls1_3'])('a TLS handshake with %s succeeds', async (version) => {
    await using server = await serve(new WebhookServer())
    expect((await shakeHands(server, version)).output).toContain('Verify return code: 0 (ok)')
  })

  test('a TLS handshake follows the `context` options for Node', async () => {
    await using server = await serve(new WebhookServer({ context: { minVersion: 'TLSv1.3' } }))
    expect((await shakeHands(server, '-tls1_2')).code).not.toBe(0)
    expect((await shakeHands(server, '-tls1_3')).code).toBe(0)
  })
})

describe('CA bundles', () => {
  test('the CA bundle is written to the `cadump` file', async () => {
    const cadump = join(folder, 'dump.pem')
    await using server = await serve(new WebhookServer({ cadump }))
    expect(readFileSync(cadump, 'utf8')).toBe(server.ca)
  })

  test('the CA bundle is the certificate itself by default', async () => {
    await using server = await serve(new WebhookServer(inFiles(serving)))
    expect(server.ca).toBe(serving.certPem)
  })

  test('the CA bundle is the given `cafile` or `cadata`', async () => {
    await using one = await serve(new WebhookServer({ ...inFiles(serving), cafile: write(authority.caPem) }))
    await using other = await serve(new WebhookServer({ ...inFiles(serving), cadata: Buffer.from(authority.caPem) }))
    for (const server of [one, other]) {
      expect(server.ca).toBe(authority.caPem)
      expect((await post(server, reviewOf())).status).toBe(200)
    }
  })

  test('the CA bundle is omitted for a certificate in `context`', async () => {
    const context = { cert: serving.certPem, key: serving.keyPem }
    await using server = await serve(new WebhookServer({ context }))
    expect(server.configs).toEqual([{ url: `https://localhost:${server.url.port}` }])
    expect((await post({ ...server, ca: authority.caPem }, reviewOf())).status).toBe(200)
  })

  test('a CA bundle that cannot be written is an error', async () => {
    const cadump = join(folder, 'nowhere', 'ca.pem')
    await expect(serve(new WebhookServer({ cadump }))).rejects.toMatchObject({ code: 'KOPF_WEBHOOK_SERVER' })
  })
})

describe('encrypted keys', () => {
  let certfile: string
  let pkeyfile: string

  beforeAll(async () => {
    certfile = write(serving.certPem)
    pkeyfile = join(folder, 'encrypted.pem')
    const args = ['pkcs8', '-topk8', '-in', write(serving.keyPem), '-out', pkeyfile, '-passout', 'pass:canary-word']
    await run('openssl', args)
  })

  test('an encrypted key is read with its password, which is never revealed', async () => {
    const options = { certfile, pkeyfile, password: 'canary-word', cadata: authority.caPem }
    await using server = await serve(new WebhookServer(options))
    expect((await post(server, reviewOf())).status).toBe(200)
    expect(server.logs.join('')).not.toMatch(/canary-word|PRIVATE/)
  })

  test.each([{}, { password: 'another' }])('an encrypted key is refused with the options %j', async (options) => {
    const failing = serve(new WebhookServer({ certfile, pkeyfile, ...options }))
    await expect(failing).rejects.toThrow('the key is encrypted, and "password" is missing or wrong')
  })
})

describe('invalid files at the start', () => {
  test.each([
    [
      'a missing file',
      () => ({ certfile: join(folder, 'none.pem'), pkeyfile: write(serving.keyPem) }),
      'does not exist',
    ],
    [
      'an invalid certificate',
      () => ({ certfile: write('hello'), pkeyfile: write(serving.keyPem) }),
      'certificates in PEM',
    ],
    [
      'half a certificate',
      () => ({ certfile: write(serving.certPem.slice(0, 300)), pkeyfile: write(serving.keyPem) }),
      'no complete certificates',
    ],
    [
      'an invalid key',
      () => ({ certfile: write(serving.certPem), pkeyfile: write('hello') }),
      'no complete private key in PEM',
    ],
    ['an empty client CA file', () => ({ verifyCafile: write('') }), 'certificates in PEM'],
    ['an empty client CA folder', () => ({ verifyCapath: makeFolder() }), 'there are no files'],
  ])('a webhook server does not start with %s', async (_, options, words) => {
    const failing = serve(new WebhookServer(options()))
    await expect(failing).rejects.toMatchObject({ code: 'KOPF_WEBHOOK_SERVER' })
    await expect(failing).rejects.toThrow(words)
  })

  test('a webhook server does not start with the key of another certificate', async () => {
    const { keyPem } = await authority.issue({ commonName: 'localhost', hosts: ['localhost'] })
    const options = { certfile: write(serving.certPem), pkeyfile: write(keyPem) }
    await expect(serve(new WebhookServer(options))).rejects.toThrow('do not belong together')
  })

  test('a webhook server starts with an expired certificate and logs a warning', async () => {
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

  test('client certificates are not requested by default', async () => {
    await using server = await serve(new WebhookServer(), fn)
    expect((await post(server, {}, by(known))).status).toBe(200)
    expect(seen).toBeUndefined()
  })

  test('client certificates of the trusted authority are passed to the function', async () => {
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

  test('optional client certificates can be omitted, but not be of another authority', async () => {
    await using server = await serve(new WebhookServer({ verifyCafile: write(authority.caPem) }), fn)
    expect((await post(server, {})).status).toBe(200)
    expect(seen).toBeUndefined()
    await expect(post(server, {}, by(unknown))).rejects.toThrow()
  })

  test('required client certificates cannot be omitted', async () => {
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

  test('client certificates are verified with the new authority after the file changes', async () => {
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

describe('changed certificate files', () => {
  test('changed certificate files are checked periodically and served without a new configuration', async () => {
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

  test('changed certificate files are ignored until they are complete and match each other', async () => {
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
      // The same error is not logged again.
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

  test('changed certificate files of another authority are served only after API servers had time to trust it', async () => {
    const clock = new ManualClock()
    const options = { ...inFiles(serving), cafile: write(authority.caPem), cadump: join(folder, 'changing.pem') }
    await using server = await serve(new WebhookServer(options), allow, clock)
    const next = await stranger.issue({ commonName: 'localhost', hosts: ['localhost'] })
    writeFileSync(options.certfile, next.certPem)
    writeFileSync(options.pkeyfile, next.keyPem)
    writeFileSync(options.cafile, stranger.caPem)
    await clock.advance(60_000)
    await server.untilConfigs(2)
    // The bundle has both authorities, and the old certificate is served.
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

test('no request fails while certificates are renewed under load', async () => {
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
