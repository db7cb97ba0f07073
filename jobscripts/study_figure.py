"""The figure of a scaling study: time per step, efficiency, and where the time goes. Readable in
grey: markers and hatches differ, and the fills differ in lightness."""
import statistics

import matplotlib

matplotlib.use("Agg")  # no display on login nodes
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import LogLocator, NullLocator  # noqa: E402

INK, SPREAD, IDEAL = "#08306b", "#6b8fc4", "#7f7f7f"
# dark to light, and a hatch each
PARTS = {"compute": ("#1f4e79", "", "compute"), "halo": ("#d9a441", "///", "exposed halo"),
         "output": ("#e8e8e8", "...", "output"), "other": ("#ffffff", "", "other")}


def middle(group, key):
    return statistics.median(row[key] for row in group)


def middle_run(group):
    """The run of the median step, or the next below: its parts add up, medians of parts do not."""
    return sorted(group, key=lambda row: row["step_s"])[(len(group) - 1) // 2]


def draw_curve(axis, groups, key, scale, ideal):
    """The median as a line, each run as a marker, the range as a bar, the ideal dashed."""
    ranks = list(groups)
    medians = [scale * middle(group, key) for group in groups.values()]
    least = [scale * min(row[key] for row in group) for group in groups.values()]
    most = [scale * max(row[key] for row in group) for group in groups.values()]
    axis.plot(ranks, ideal, "--", color=IDEAL, linewidth=1.2, label="ideal")
    axis.errorbar(ranks, medians, [[m - low for m, low in zip(medians, least)],
                                   [high - m for m, high in zip(medians, most)]],
                  fmt="o-", color=INK, ecolor=SPREAD, capsize=4, markersize=5,
                  label="median, range")
    for count, group in groups.items():
        axis.plot([count] * len(group), [scale * row[key] for row in group], "_", color=SPREAD,
                  markersize=9)
    axis.set_xscale("log", base=2)
    axis.set_xticks(ranks, [str(count) for count in ranks])
    axis.set_xticks([], minor=True)
    axis.set_xlabel("ranks")
    axis.grid(True, which="major", color="#e0e0e0", linewidth=0.6)
    axis.legend(frameon=False, fontsize=8)


def draw_time(axis, kind, groups):
    first = next(iter(groups))
    start = 1e3 * middle(groups[first], "step_s")
    ideal = [start if kind == "weak" else start * first / count for count in groups]
    draw_curve(axis, groups, "step_s", 1e3, ideal)
    if kind == "strong":
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_locator(NullLocator())
    else:
        axis.set_ylim(bottom=0)
    axis.set_ylabel("time per step, ms")


def draw_efficiency(axis, groups):
    draw_curve(axis, groups, "efficiency", 100, [100] * len(groups))
    axis.set_ylim(bottom=0)
    axis.set_ylabel("efficiency, %")


def draw_split(axis, groups):
    places = range(len(groups))
    bottom = [0.0] * len(groups)
    for part, (colour, hatch, name) in PARTS.items():
        heights = [1e3 * middle_run(group)[f"{part}_s"] for group in groups.values()]
        axis.bar(places, heights, 0.62, bottom, color=colour, hatch=hatch, edgecolor="black",
                 linewidth=0.6, label=name)
        bottom = [low + height for low, height in zip(bottom, heights)]
    axis.set_xticks(list(places), [str(count) for count in groups])
    axis.set_xlabel("ranks")
    axis.set_ylabel("time per step, ms")
    axis.set_ylim(0, 1.35 * max(bottom))
    axis.legend(frameon=False, fontsize=8, ncol=2, loc="upper left")


def draw(kind, name, groups, folder):
    """`groups`: rank count -> rows of study.csv. Writes study.svg and study.png."""
    some = next(iter(groups.values()))[0]
    matplotlib.rcParams["svg.hashsalt"] = "isotherm"  # the same data give the same file
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    draw_time(axes[0], kind, groups)
    draw_efficiency(axes[1], groups)
    draw_split(axes[2], groups)
    cells = " x ".join(str(some[f"cells_{axis}"]) for axis in "xyz")
    on = f"on {some['ranks']} rank{'' if some['ranks'] == 1 else 's'}"
    of = f"{cells} cells {on if kind == 'weak' else 'in total'}"
    runs = sum(map(len, groups.values()))
    figure.suptitle(f"{kind} scaling, {name}: {of}, backend {some['backend']}, {runs} runs",
                    fontsize=11)
    figure.savefig(folder / "study.svg", metadata={"Date": None})
    figure.savefig(folder / "study.png", dpi=150)
    plt.close(figure)
