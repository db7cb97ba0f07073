"""The picture of the quickstart run in the README, made with ParaView (5.11 and later):

    xvfb-run -a -s "-screen 0 1280x1024x24" pvbatch docs/guide/quickstart_paraview.py \
        out/quickstart/snapshots.xdmf docs/guide/quickstart_paraview.png

The half of the block behind the plane y = 0.15 m, with lines of equal temperature on the cut.
"""
import os
import sys

from paraview import simple as pv

SOURCE, PICTURE = os.path.abspath(sys.argv[1]), sys.argv[2]
TIME_S = 30
LINES_K = [250, 280, 310, 350, 400, 500, 600, 700, 800, 900, 1000]
COLOURS_K = [250, 1000]
BLACK = [0, 0, 0]


def main():
    reader = pv.OpenDataFile(SOURCE)
    reader.UpdatePipelineInformation()
    time = min(reader.TimestepValues, key=lambda t: abs(t - TIME_S))
    scene = pv.GetAnimationScene()
    scene.UpdateAnimationUsingDataTimeSteps()
    scene.AnimationTime = time
    reader.UpdatePipeline(time)  # 5.11 asks for times, and finds nothing without one
    view = pv.GetActiveViewOrCreate("RenderView")
    view.ViewSize = [1000, 640]
    view.UseColorPaletteForBackground = 0
    view.Background = [1, 1, 1]
    view.OrientationAxesLabelColor = BLACK
    points = pv.CellDatatoPointData(Input=reader)
    half = pv.Clip(Input=points, ClipType="Plane", Invert=0)
    half.ClipType.Origin, half.ClipType.Normal = [0.2, 0.15, 0.1], [0, 1, 0]
    cut = pv.Slice(Input=points, SliceType="Plane")
    cut.SliceType.Origin, cut.SliceType.Normal = [0.2, 0.1499, 0.1], [0, 1, 0]
    lines = pv.Contour(Input=cut, ContourBy=["POINTS", "T"], Isosurfaces=LINES_K)
    table = pv.GetColorTransferFunction("T")
    table.ApplyPreset("Inferno (matplotlib)", True)
    lines.UpdatePipeline(time)
    drawn = pv.Show(lines, view)
    pv.ColorBy(drawn, None)
    drawn.AmbientColor = drawn.DiffuseColor = [0.75, 0.85, 0.9]
    half.UpdatePipeline(time)
    shown = pv.Show(half, view)
    shown.Ambient, shown.Diffuse = 0.6, 0.6
    pv.ColorBy(shown, ("POINTS", "T"))
    table.RescaleTransferFunction(*COLOURS_K)
    pv.GetDisplayProperties(half, view).SetScalarBarVisibility(view, True)
    bar = pv.GetScalarBar(table, view)
    bar.Title, bar.ComponentTitle = "T in K", ""
    bar.TitleColor = bar.LabelColor = BLACK
    bar.AutomaticLabelFormat, bar.LabelFormat = 0, "%.0f"
    bar.AddRangeLabels, bar.WindowLocation = 0, "Any Location"
    bar.Position, bar.ScalarBarLength = [0.88, 0.3], 0.5
    view.CameraPosition, view.CameraFocalPoint = [0.44, -0.44, 0.4], [0.212, 0.17, 0.085]
    view.CameraViewUp = [0, 0, 1]
    pv.SaveScreenshot(PICTURE, view, CompressionLevel="9")
    print(f"{PICTURE}: t = {time:g} s")


main()
