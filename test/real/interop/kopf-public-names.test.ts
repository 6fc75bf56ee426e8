/** The recorded public names of Kopf, which the page "Coming from Kopf" has to mention, compared with the installed Kopf. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ensureKopf, kopfVersion } from '../../../tools/kopf/venv.ts'
import { useKopf } from './paired-operators.ts'

useKopf()

test('the recorded public names of Kopf are those of the installed Kopf', async () => {
  const { python } = await ensureKopf()
  const { stdout } = await promisify(execFile)(python, [join('tools', 'kopf-vectors', 'names.py')])
  const recorded = await readFile(join('test', 'testdata', 'kopf-names.json'), 'utf8')
  expect(JSON.parse(recorded)).toEqual(JSON.parse(stdout))
  expect(JSON.parse(recorded)).toMatchObject({ version: kopfVersion })
})
