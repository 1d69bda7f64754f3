import { useEffect, useState } from "preact/hooks";
import { html } from "htm/preact";

/** The white rim that readers of QR codes need, in modules. */
const RIM = 4;

/** A text as a QR code. The library is loaded when the first one is shown. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const [code, setCode] = useState<{ size: number; path: string } | null>(null);
  useEffect(() => {
    let isShown = true;
    import("uqr").then(({ encode }) => {
      const { size, data } = encode(text, { ecc: "M", border: RIM });
      if (isShown) setCode({ size, path: pathOf(data) });
    }, () => {});
    return () => {
      isShown = false;
    };
  }, [text]);
  return html`
    <div class="qr">
      ${code !== null && html`
        <svg viewBox=${`0 0 ${code.size} ${code.size}`} role="img" aria-label=${label}>
          <path d=${code.path} />
        </svg>
      `}
    </div>
  `;
}

/** The dark modules as one path, a rectangle for each run of a row. */
function pathOf(rows: readonly (readonly boolean[])[]): string {
  const runs: string[] = [];
  for (const [y, row] of rows.entries()) {
    for (let x = 0; x < row.length; x++) {
      const from = x;
      while (row[x]) x++;
      if (x > from) runs.push(`M${from} ${y}h${x - from}v1h${from - x}z`);
    }
  }
  return runs.join("");
}
