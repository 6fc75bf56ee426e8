/**
 * Writes src/server/authorization/bootstrap.generated.ts: the roles and bindings that a real server creates on start.
 * Run by maintainers after the pin in tools/envtest has moved: `npx tsx --conditions=source tools/rbac/generate.ts`.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { callApi } from '../envtest/api.ts'
import { type ControlPlane, startControlPlane } from '../envtest/control-plane.ts'
import { readBootstrapPolicy } from './policy.ts'

const target = fileURLToPath(new URL('../../src/server/authorization/bootstrap.generated.ts', import.meta.url))

const plane: ControlPlane = await startControlPlane()
try {
  const { url, caPem, admin } = plane
  const policy = await readBootstrapPolicy(async (path) => {
    const { body } = await callApi({ url, caPem, user: admin }, { path })
    return (body as { items: object[] }).items
  })
  const text = JSON.stringify(policy).replaceAll('\\', '\\\\').replaceAll("'", "\\'")
  const header =
    '/** Written by tools/rbac/generate.ts: the roles and bindings of a new real server. Parsed only if RBAC is on. */'
  writeFileSync(target, `${header}\nexport const bootstrapJson: string =\n  '${text}'\n`)
} finally {
  await plane.stop()
}
