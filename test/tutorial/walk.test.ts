/**
 * The walk-through as it is read, with nothing but Node: every file is saved, every command typed, every answer compared with the
 * page. With kubectl, and on the real control plane: test/real/tutorial.test.ts.
 */
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { standInForKubectl } from './kubectl.ts'
import { readPage } from './pages.ts'
import { Reader } from './reader.ts'
import { walkThrough } from './walking.ts'

const kubectl = (folder: string) => standInForKubectl(join(folder, 'kubeconfig'))

describe('does what it says', () => {
  walkThrough({ kubectl })
})

test('without kubectl, the object is deleted by taking it out of its file', { timeout: 120_000 }, async () => {
  const { files, blocks } = readPage('deletion')
  const object = readPage('resources').blocks.find(({ language }) => language === 'yaml')!.text
  const farewell = blocks.findLast(({ language }) => language === '')!.text.replace('2Gi', '1Gi')
  const reader = new Reader({ kubectl })
  reader.save('ephemeral.ts', files['ephemeral.ts']!)
  reader.save('evc.yaml', object)
  await reader.start('npx kopf dev ephemeral.ts --apply evc.yaml')
  const created = '[default/my-claim] Creation is processed: 1 succeeded; 0 failed.'
  await reader.see(['…', `[2026-01-31 12:00:00,123] kopf.objects         [INFO    ] ${created}`])
  reader.save('evc.yaml', object.replaceAll(/^/gm, '#'))
  await reader.see([
    'kopf dev: deleted ephemeralvolumeclaims.example.com/my-claim',
    'kopf dev: evc.yaml changed, applied in 20 ms',
    ...farewell.trimEnd().split('\n'),
  ])
  await reader.leave()
})
