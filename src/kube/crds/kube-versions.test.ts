import { expect, test } from 'vitest'
import { compareKubeVersions } from './kube-versions.ts'

test('versions are ordered as by the real API server', () => {
  const preferred = [
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
    'v0',
  ]
  for (const [index, left] of preferred.entries()) {
    for (const right of preferred.slice(index + 1)) {
      expect(compareKubeVersions(left, right), `${left} before ${right}`).toBeGreaterThan(0)
      expect(compareKubeVersions(right, left)).toBeLessThan(0)
    }
  }
  expect(compareKubeVersions('v1', 'v1')).toBe(0)
})
