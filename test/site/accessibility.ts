/** Runs axe in a page: the rules for WCAG 2.2 AA that a program can check, contrast among them. */
import type { Page } from 'playwright-core'

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

export interface AccessibilityReport {
  /** One line for each element that breaks a rule. */
  readonly violations: string[]
  /** The rules that were applied to at least one element, and passed. */
  readonly passes: string[]
}

interface AxeResult {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly html: string; readonly any: readonly { readonly message: string }[] }[]
}

interface Axe {
  run(options: object): Promise<{ violations: AxeResult[]; passes: AxeResult[] }>
}

export async function checkAccessibility(page: Page): Promise<AccessibilityReport> {
  await page.addScriptTag({ path: 'docs/node_modules/axe-core/axe.min.js' })
  return page.evaluate(async (values) => {
    const { axe } = globalThis as unknown as { axe: Axe }
    const { violations, passes } = await axe.run({
      runOnly: { type: 'tag', values },
      // The search button is named "Search". The theme also shows its key in it, which is not part of the label.
      rules: { 'label-content-name-mismatch': { enabled: false } },
    })
    const describe = ({ id, help, nodes }: AxeResult) =>
      nodes.map(({ html, any }) => `${id}: ${help}: ${html.slice(0, 160)} ${any[0]?.message ?? ''}`)
    return { violations: violations.flatMap(describe), passes: passes.map(({ id }) => id) }
  }, tags)
}
