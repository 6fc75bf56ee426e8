/** By what one can tell which kind of cluster it is: read from servers that show different certificates. */
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { readClusterSigns } from '../../src/client/cluster-signs.ts'
import { ConnectionInfo } from '../../src/client/credentials.ts'
import { createHttpsTransport } from '../../src/client/transport.ts'
import { CertificateAuthority } from '../../src/util/certificates.ts'
import { defer, networking, sessionOn, startTarget } from './targets.ts'

const patient = new AbortController().signal
const once = { networking: { ...networking, errorBackoffs: [] } }

/** An API server of which there is only the version, as that of k3s. */
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

test('the certificate that the server shows, and its version', async () => {
  const { url, ca } = await startLikeK3s()
  const connection = new ConnectionInfo({ server: url, caData: ca })
  expect(await readClusterSigns(sessionFor(connection), connection, patient)).toEqual({
    subjectCommonName: 'k3s',
    subjectOrganization: 'k3s',
    issuerCommonName: 'k3s-server-ca@1700000000',
    hosts: ['127.0.0.1', 'k3d-test-server-0', 'localhost'],
    gitVersion: 'v1.31.2+k3s1',
  })
})

test('without a socket, only the version', async () => {
  const { transport } = await startTarget('in process')
  expect(await readClusterSigns(sessionOn(transport), undefined, patient)).toEqual({
    subjectCommonName: undefined,
    subjectOrganization: undefined,
    issuerCommonName: undefined,
    hosts: [],
    gitVersion: expect.stringMatching(/^v1\./),
  })
})

describe('a sign that cannot be read is not there', () => {
  const nothing = { subjectCommonName: undefined, hosts: [], gitVersion: undefined }

  test('of a server that is not trusted', async () => {
    const { url } = await startLikeK3s()
    const connection = new ConnectionInfo({ server: url })
    expect(await readClusterSigns(sessionFor(connection), connection, patient)).toMatchObject(nothing)
  })

  test('of a server that is not there', async () => {
    const connection = new ConnectionInfo({ server: 'https://127.0.0.1:1' })
    expect(await readClusterSigns(sessionFor(connection), connection, patient)).toMatchObject(nothing)
  })

  test('of a server that does not encrypt', async () => {
    const connection = new ConnectionInfo({ server: 'http://127.0.0.1:1' })
    expect(await readClusterSigns(sessionFor(connection), connection, patient)).toMatchObject(nothing)
  })
})

test('whoever stops waiting for them is not answered', async () => {
  const { url, ca } = await startLikeK3s()
  const connection = new ConnectionInfo({ server: url, caData: ca })
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(readClusterSigns(sessionFor(connection), connection, signal)).rejects.toThrow('enough')
})
