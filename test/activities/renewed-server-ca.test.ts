/** The API server gets a certificate of another authority: the operator reads the CA file again and reconnects. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConnectionInfo, Operator } from 'kopf'
import { ApiServer, startServer } from 'kopf/server'
import { expect, test } from 'vitest'
import { useStage } from './activity-support.ts'
import { until } from './gatekeeper.ts'

const stage = useStage()

test('a server certificate of a new authority is trusted as soon as the CA file contains that authority', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kopf-authority-'))
  const caPath = join(folder, 'ca.crt')
  const api = new ApiServer()
  const first = await startServer({ api })
  const port = Number(new URL(first.url).port)
  try {
    writeFileSync(caPath, first.ca!)
    const kopf = new Operator({ settings: { networking: { errorBackoffs: [] }, watching: { reconnectBackoff: 0.05 } } })
    const seen = new Set<string>()
    kopf.on.event('configmaps', ({ name }) => void seen.add(name))
    let logins = 0
    kopf.on.login(() => {
      logins += 1
      return new ConnectionInfo({ server: first.url, token: first.token, caPath })
    })
    const running = await stage.start(kopf, { namespaces: ['default'] })
    await running.ready
    await first.stop()
    await using second = await startServer({ api, port })
    expect(second.ca).not.toBe(first.ca)
    await until(() => stage.logs.some((line) => line.includes('not signed by an authority that is trusted')))
    writeFileSync(caPath, second.ca!)
    const body = JSON.stringify({ metadata: { name: 'after' } })
    const headers = { authorization: `Bearer ${first.token}` }
    await api.send({ method: 'POST', path: '/api/v1/namespaces/default/configmaps', headers, body })
    await until(() => seen.has('after'))
    expect(logins).toBe(1)
    await running.stop()
  } finally {
    api.close()
    rmSync(folder, { recursive: true })
  }
})
