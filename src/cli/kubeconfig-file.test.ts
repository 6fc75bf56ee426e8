import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeKubeconfig } from './embedded.ts'

test('a symbolic link under a guessable name does not redirect the kubeconfig file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kopf-kubeconfig-'))
  try {
    const victim = join(folder, 'victim')
    writeFileSync(victim, 'untouched', { mode: 0o644 })
    symlinkSync(victim, join(folder, `.kubeconfig.${process.pid}`))
    const { path } = await writeKubeconfig('{"token":"secret"}', join(folder, 'kubeconfig'))
    expect(readFileSync(victim, 'utf8')).toBe('untouched')
    expect(readFileSync(path, 'utf8')).toBe('{"token":"secret"}')
    expect(statSync(path).mode & 0o777).toBe(0o600)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
