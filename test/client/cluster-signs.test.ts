/** Signs of the type of a cluster, read from servers that show different certificates. */
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { ConnectionInfo } from '../../src/client/auth/connection-info.ts'
import { readClusterFlavour } from '../../src/client/cluster-flavour.ts'
import { createHttpsTransport } from '../../src/client/http/transport.ts'
import { CertificateAuthority } from '../../src/util/certificates.ts'
import { defer, networking, sessionOn, startTarget } from './client-targets.ts'

const patient = new AbortController().signal
const once = { networking: { ...networking, errorBackoffs: [] } }

/** A server with the certificate of k3s, which serves only its version. */
async function startLikeK3s(): Promise<{ url: string; ca: string }> {
  const authority = await CertificateAuthority.create('k3s-server-ca@1700000000')
  const { certPem: cert, keyPem: key } = await authority.issue({
    commonName: 'k3s',
    organizations: ['k3s'],
    hosts: ['127.0.0.1', 'k3d-test-server-0', 'localhost'],
  })
  const server = createServer({ cert, key }, (_, response) => {
    response.setHeader('content-type', 'application/json').end('{"gitVersion":"v1.31.2+k3s1"}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  defer(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, ca: authority.caPem }
}

function sessionFor(connection: ConnectionInfo) {
  const transport = createHttpsTransport(connection)
  defer(() => transport.close())
  return sessionOn(transport, once)
}

test('the cluster signs are the server certificate and the version', async () => {
  const { url, ca } = await startLikeK3s()
  const connection = new ConnectionInfo({ server: url, caData: ca })
  expect(await readClusterFlavour(sessionFor(connection), connection, patient)).toEqual({
    subjectCommonName: 'k3s',
    subjectOrganization: 'k3s',
    issuerCommonName: 'k3s-server-ca@1700000000',
    hosts: ['127.0.0.1', 'k3d-test-server-0', 'localhost'],
    gitVersion: 'v1.31.2+k3s1',
  })
})

test('the cluster signs without a socket are the version alone', async () => {
  const { transport } = await startTarget('in process')
  expect(await readClusterFlavour(sessionOn(transport), undefined, patient)).toEqual({
    subjectCommonName: undefined,
    subjectOrganization: undefined,
    issuerCommonName: undefined,
    hosts: [],
    gitVersion: expect.stringMatching(/^v1\./),
  })
})

describe('unreadable cluster signs', () => {
  const nothing = { subjectCommonName: undefined, hosts: [], gitVersion: undefined }

  test('a server that is not trusted yields no cluster signs', async () => {
    const { url } = await startLikeK3s()
    const connection = new ConnectionInfo({ server: url })
    expect(await readClusterFlavour(sessionFor(connection), connection, patient)).toMatchObject(nothing)
  })

  test('a server that cannot be reached yields no cluster signs', async () => {
    const connection = new ConnectionInfo({ server: 'https://127.0.0.1:1' })
    expect(await readClusterFlavour(sessionFor(connection), connection, patient)).toMatchObject(nothing)
  })

  test('a server without TLS yields no cluster signs', async () => {
    const connection = new ConnectionInfo({ server: 'http://127.0.0.1:1' })
    expect(await readClusterFlavour(sessionFor(connection), connection, patient)).toMatchObject(nothing)
  })
})

test('reading the cluster signs rejects when its signal is aborted', async () => {
  const { url, ca } = await startLikeK3s()
  const connection = new ConnectionInfo({ server: url, caData: ca })
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(readClusterFlavour(sessionFor(connection), connection, signal)).rejects.toThrow('enough')
})
