// Two patches outlined over a picture: the one without which the prediction falls most, and the one a map ranks first.
import { checkShown } from "../components/belief";
import { spreadWords } from "../color/ends";
import { useViewer, type Viewer } from "../context";
import { CASING } from "../report/contours";
import { pictureIn, type Picture } from "../report/picture";
import { placeIn } from "./image_stage";

/** Solid lines: the check's answer; dashed: the map's. A patch that is both has a solid line. */
export interface PatchMark {
  token: number;
  decides: boolean;
  first: boolean;
}

/** The part of a patch's side between its border and its outline, which so stays within the picture. */
export const MARK_INSET = 0.05;
export const MARK_DASHES = "5 4";
export const MARK_COLOUR = "#ffffff";

/** The only patch that the shown map ranks first; null if it does not tell the first ones apart. */
function firstPatch(viewer: Viewer): number | null {
  const [best, second] = viewer.ranking.value;
  if (!best || viewer.isZero || second?.rank === best.rank) return null;
  if (spreadWords(viewer.endsOf(viewer.degenerate() && viewer.row()))) return null;
  return best.token;
}

/** The patches to outline for the chosen method, output token and layer. */
export function marksOf(viewer: Viewer): PatchMark[] {
  const picture = pictureIn(viewer.report);
  const first = firstPatch(viewer);
  const map = checkShown(viewer)?.map;
  const decisive = map && map.top_level !== "unknown" ? (map.decisive_token ?? null) : null;
  return [...new Set([decisive, first])]
    .filter((token) => token !== null)
    .filter((token) => picture.isPatch(token))
    .map((token) => ({ token, decides: token === decisive, first: token === first }));
}

interface OutlineProps {
  x: number;
  y: number;
  side: number;
  decides: boolean;
}

/** White over black, so that it is seen on every picture. */
function Outline({ x, y, side, decides }: OutlineProps) {
  const rect = { x, y, width: side, height: side };
  return (
    <>
      <rect {...rect} stroke={CASING} stroke-width={5} />
      <rect {...rect} stroke={MARK_COLOUR} stroke-width={2.5} stroke-dasharray={decides ? undefined : MARK_DASHES} />
    </>
  );
}

export function PatchMarks({ picture, marks }: { picture: Picture; marks: readonly PatchMark[] }) {
  const { rows, columns } = picture;
  return (
    <svg
      class="marks"
      aria-hidden="true"
      viewBox={`0 0 ${columns} ${rows}`}
      preserveAspectRatio="none"
      style={placeIn(picture, picture.seen)}
    >
      {marks.map(({ token, decides, first }) => {
        const { row, column } = picture.patchOf(token);
        return (
          <g
            key={token}
            data-token={token}
            data-mark={[decides && "decides", first && "first"].filter(Boolean).join(" ")}
          >
            <Outline x={column + MARK_INSET} y={row + MARK_INSET} side={1 - 2 * MARK_INSET} decides={decides} />
          </g>
        );
      })}
    </svg>
  );
}

const meaning = ({ decides, first }: PatchMark) =>
  decides && first
    ? "ranked first, and without it the prediction falls most"
    : decides
      ? "without it the prediction falls most"
      : "ranked first by this map";

/** A sentence about each outline, for captions. */
export const markNotes = ({ report }: Viewer, marks: readonly PatchMark[]): string[] =>
  marks.map((mark) => {
    const line = mark.decides ? "Solid" : "Dashed";
    return `${line} outline: ${report.tokens[mark.token].label} (${meaning(mark)}).`;
  });

/** The meaning of the outlines, with the places of their patches. */
export function MarksLegend({ marks }: { marks: readonly PatchMark[] }) {
  const { report } = useViewer();
  if (marks.length === 0) return null;
  return (
    <ul class="legend marks-legend">
      {marks.map((mark) => (
        <li key={mark.token}>
          <svg class="marks" viewBox="0 0 20 20" width={20} height={20} aria-hidden="true">
            <Outline x={3} y={3} side={14} decides={mark.decides} />
          </svg>
          <span>
            <b>{report.tokens[mark.token].label}</b>: {meaning(mark)}
          </span>
        </li>
      ))}
    </ul>
  );
}
